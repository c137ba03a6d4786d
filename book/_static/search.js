// Search results show the sentence in which the word stands. Sphinx would cut a window out of the
// page's text, buttons, code of equations and answers included.
(() => {
  const noise = ".headerlink, .time-line, .exercise-cost, .katex-html[aria-hidden], .veil, .predict-form"
    + ", .quiz-why, button, noscript, script, style, svg, nav";
  const blocks = "p, li, dt, dd, td, th, pre, figcaption, summary, h1, h2, h3, h4";
  const most = 240;

  const partOf = (html, anchor) => {
    const article = new DOMParser().parseFromString(html, "text/html").querySelector("article");
    article?.querySelectorAll(noise).forEach((element) => element.remove());
    return article?.querySelector(`[id="${CSS.escape(anchor.slice(1))}"]`) ?? article;
  };
  // The texts of the innermost blocks, in order.
  const textsOf = (part) => [...part.querySelectorAll(blocks)]
    .filter((block) => !block.querySelector(blocks))
    .map((block) => block.textContent.replace(/\s+/g, " ").trim())
    .filter(Boolean);

  Search.htmlToText = (html, anchor) => {
    const part = partOf(html, anchor ?? "");
    return part ? textsOf(part).join("\n") : "";
  };
  Search.makeSearchSummary = (html, keywords, anchor) => {
    const texts = Search.htmlToText(html, anchor).split("\n");
    const begins = [...keywords].map((word) =>
      new RegExp(`(?<![\\p{L}\\p{N}])${word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}`, "iu"));
    const holds = (text) => begins.some((word) => word.test(text));
    const summary = Object.assign(document.createElement("p"), { className: "context" });
    // Prose before a heading that repeats the title.
    const text = texts.slice(1).find(holds) ?? texts.find(holds) ?? texts[1] ?? texts[0];
    const sentences = text.split(/(?<=[.?!:]) /);
    let at = Math.max(sentences.findIndex(holds), 0), words = sentences[at];
    while (sentences[++at] && words.length + sentences[at].length < most) words += ` ${sentences[at]}`;
    const cut = words.length > most ? `${words.slice(0, words.lastIndexOf(" ", most))} …` : words;
    summary.textContent = cut;
    return summary;
  };
})();
