// What touches in the drawings of a page: words and words, words and lines, words and the edges of
// the drawing or of the box that they stand in. Gives a list of sentences.
() => {
  const found = [];
  const inside = ([x, y], r, trim) =>
    x > r.left + 1 && x < r.right - 1 && y > r.top + trim && y < r.bottom - trim;
  const shared = (a, b) => [
    Math.min(a.right, b.right) - Math.max(a.left, b.left),
    Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top),
  ];
  // Points along a line, on the screen.
  const points = (path) => {
    const length = path.getTotalLength(), at = path.getScreenCTM(), out = [];
    for (let s = 0; s <= length; s += 2) {
      const point = path.getPointAtLength(s).matrixTransform(at);
      out.push([point.x, point.y]);
    }
    return out;
  };
  for (const svg of document.querySelectorAll("svg")) {
    const name = svg.dataset.name, edge = svg.getBoundingClientRect();
    const say = (what) => found.push(`${name}: ${what}`);
    const texts = [...svg.querySelectorAll("text")].map((e) => [e.textContent, e.getBoundingClientRect()]);
    // Cells may lie under words; lines and the heads of arrows may not.
    const lines = [...svg.querySelectorAll("path")]
      .filter((path) => path.getAttribute("stroke") !== path.getAttribute("fill"))
      .map(points);
    const boxes = [...svg.querySelectorAll("rect[stroke]")].map((e) => e.getBoundingClientRect());
    texts.forEach(([said, a], i) => {
      if (a.left < edge.left - 3 || a.right > edge.right + 3) say(`"${said}" sticks out`);
      for (const [other, b] of texts.slice(i + 1)) {
        const [x, y] = shared(a, b);
        if (x > 1 && y > 4) say(`"${said}" and "${other}"`);
      }
      if (lines.some((line) => line.some((point) => inside(point, a, 4)))) say(`a line through "${said}"`);
      for (const b of boxes) {
        const middle = [(a.left + a.right) / 2, (a.top + a.bottom) / 2];
        if (inside(middle, b, 0) && (a.left < b.left + 1 || a.right > b.right - 1)) say(`"${said}" is wider than its box`);
      }
    });
  }
  return found;
}
