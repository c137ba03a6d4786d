// "You met this before": at the end of a chapter, up to two predictions that the reader missed in
// earlier chapters. A right answer retires the question.
(() => {
  const most = 2;
  const missed = Object.entries(course.load().predictions).filter(
    ([, given]) => given.choice !== null && !given.right && !given.retired
      && given.page !== course.page);
  const end = document.querySelector("#what-to-keep");
  if (!missed.length || !end) return;

  const make = (tag, classes, text = "") =>
    Object.assign(document.createElement(tag), { className: classes, textContent: text });

  // The question as its own chapter shows it, with one button in place of three.
  const question = (chapter, { label, html }) => {
    const box = make("div", "predict predict-again");
    box.innerHTML = html; // from our own build
    for (const link of box.querySelectorAll("a[href]")) {
      link.href = new URL(link.getAttribute("href"), course.root);
    }
    const origin = make("a", "", chapter.title);
    origin.href = new URL(`${chapter.page}.html#${label.replace(/[^a-z0-9]+/gi, "-")}`, course.root);
    const head = box.querySelector(".predict-head");
    head.replaceChildren("From ", origin);
    const [answer, ...others] = box.querySelectorAll(".predict-sure button[value]");
    answer.textContent = "Answer";
    others.forEach((button) => button.value !== "" && button.remove());
    box.querySelector(".predict-sure > span").remove();
    box.querySelector(".predict-hint").textContent = "Choose an answer.";
    course.ask(box, null, ({ choice, right }) => {
      if (choice === null) return "Shown. It will come back.";
      if (!right) return "Not yet. It will come back.";
      course.change((data) => {
        if (data.predictions[label]) data.predictions[label].retired = true;
      });
      return "Right this time. It will not come back.";
    });
    return box;
  };

  course.chapters().then((chapters) => {
    const here = chapters.findIndex((chapter) => chapter.page === course.page);
    const wanted = new Set(missed.map(([label]) => label));
    const found = chapters.slice(0, Math.max(here, 0)).flatMap((chapter) =>
      chapter.predictions.filter(({ label }) => wanted.has(label)).map((p) => [chapter, p]));
    if (!found.length) return;
    const section = make("section", "again");
    section.append(make("h2", "", "You met this before"));
    section.append(...found.slice(0, most).map((pair) => question(...pair)));
    end.before(section);
  }, () => {}); // without the list there is nothing to ask
})();
