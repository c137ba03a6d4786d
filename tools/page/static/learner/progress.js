// The page "Your progress": what the store holds, and the ways in and out of it.
(() => {
  const levels = ["guess", "fairly sure", "sure"];
  const place = document.getElementById("progress");

  // make("p", {className: "x"}, "text", child, …)
  const make = (tag, properties, ...children) => {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...children);
    return element;
  };
  const link = (text, page, anchor = "") =>
    {
    const href = new URL(`${page}.html${anchor && `#${anchor}`}`, course.root).href;
    return make("a", { href, className: "reference internal" }, text);
  };
  const count = (number, one, many = `${one}s`) => `${number} ${number === 1 ? one : many}`;
  const idOf = (label) => label.toLowerCase().replace(/[^a-z0-9]+/g, "-");

  const table = (caption, heads, rows) => {
    const cells = (tag, row) => row.map((cell) => make(tag, tag === "th" ? { scope: "col" } : {}, cell));
    return make("div", { className: "pst-scrollable-table-container" },
      make("table", { className: "table", ariaLabel: caption },
        make("thead", {}, make("tr", {}, ...cells("th", heads))),
        make("tbody", {}, ...rows.map((row) => make("tr", {}, ...cells("td", row))))));
  };

  const share = (names, done) =>
    names.length ? `${names.filter((name) => name in done).length} of ${names.length}` : "–";
  const chapterRows = (chapters, data) => chapters.map(({ page, title, exercises, predictions }) => [
    link(title, page),
    page in data.read ? `read on ${data.read[page]}` : "not yet",
    share(exercises.map(({ id }) => id), data.passed),
    share(predictions.map(({ label }) => label), data.predictions),
  ]);

  // How often the reader was right at each confidence: [number, of them right].
  const calibration = (data) => levels.map((_, sure) => {
    const given = Object.values(data.predictions).filter((p) => p.sure === sure);
    return [given.length, given.filter((p) => p.right).length];
  });
  // Wilson's interval: the shares that so many answers cannot rule out (95\u00a0%).
  const wilson = (right, n) => {
    const z = 1.96, p = right / n, middle = (p + z * z / (2 * n)) / (1 + z * z / n);
    const half = (z / (1 + z * z / n)) * Math.sqrt(p * (1 - p) / n + (z * z) / (4 * n * n));
    return [Math.max(middle - half, 0), Math.min(middle + half, 1)];
  };
  const drawing = (rows) => {
    const svg = (tag, attributes, text) => {
      const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
      for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
      if (text) element.textContent = text;
      return element;
    };
    const x = (share) => 105 + 290 * share;
    const said = rows.map(([n, right], i) => `${levels[i]} ${right} of ${n}`).join(", ");
    const all = svg("svg", {
      viewBox: "0 0 480 150", role: "img", class: "calibration",
      "aria-label": `Bars: the share of your predictions that were right. ${said}.`,
    });
    for (const share of [0, 0.5, 1]) {
      all.append(svg("path", { d: `M${x(share)} 8V122`, class: "grid" }),
        svg("text", { x: x(share), y: 142, "text-anchor": "middle" }, `${100 * share} %`));
    }
    rows.forEach(([n, right], i) => {
      const y = 26 + 38 * i;
      all.append(svg("text", { x: 95, y: y + 5, "text-anchor": "end" }, levels[i]));
      if (n) {
        const [low, high] = wilson(right, n);
        all.append(svg("rect", { x: x(0), y: y - 9, width: 290 * right / n, height: 18, class: "bar" }),
          svg("path", { d: `M${x(low)} ${y}H${x(high)}M${x(low)} ${y - 5}v10M${x(high)} ${y - 5}v10`, class: "whisker" }));
      }
      all.append(svg("text", { x: 408, y: y + 5 }, `${right} of ${n}`));
    });
    return all;
  };

  const predictionRows = (chapters, data) => chapters.flatMap(({ page, title, predictions }) =>
    predictions.filter(({ label }) => label in data.predictions).map(({ label, text }) => {
      const { choice, sure, right, retired } = data.predictions[label];
      const verdict = choice === null ? "shown" : right ? "right" : retired ? "missed, right later" : "missed";
      return [link(text, page, idOf(label)), title, choice === null ? "–" : levels[sure], verdict];
    }));

  const cellsOf = (data) =>
    Object.values(data.code).reduce((sum, cells) => sum + Object.keys(cells).length, 0);
  // "2 chapters read, 1 exercise passed, 3 predictions, 1 function kept, code in 4 cells", or "".
  const summary = (data) => {
    const [read, passed, predicted, kept] = [data.read, data.passed, data.predictions, data.kept]
      .map((part) => Object.keys(part).length);
    const cells = cellsOf(data);
    return [
      read && `${count(read, "chapter")} read`,
      passed && `${count(passed, "exercise")} passed`,
      predicted && count(predicted, "prediction"),
      kept && `${count(kept, "function")} kept`,
      cells && `code in ${count(cells, "cell")}`,
    ].filter(Boolean).join(", ");
  };

  // The functions that one kept with `keep`, each with its code and a way to forget it.
  const keptList = (chapters, data, redraw) => {
    const all = Object.entries(data.kept).map(([name, { page, day, code }]) => {
      const { title } = chapters.find((chapter) => chapter.page === page) ?? { title: page };
      const forget = button("Forget", () => {
        course.forget(name);
        said.textContent = `${name} is forgotten.`;
        redraw();
        place.querySelector(".kept-function button")?.focus();
      });
      forget.setAttribute("aria-label", `Forget ${name}`);
      return make("div", { className: "kept-function" },
        make("p", {}, make("code", {}, name), ", kept on ", day, " in ", link(title, page), " ", forget),
        make("details", {}, make("summary", {}, "Its code"), make("pre", { tabIndex: 0 }, code)));
    });
    return all.length ? [
      make("h2", {}, "Functions that you kept"),
      make("p", {}, "In code that runs in a page, ", make("code", {}, "parts()"), " finds them under these names."),
      ...all,
    ] : [];
  };

  const draw = (chapters, redraw) => {
    const data = course.load();
    const counted = calibration(data);
    const total = counted.reduce((sum, [n]) => sum + n, 0);
    const rows = predictionRows(chapters, data);
    const read = chapters.filter(({ page }) => page in data.read).length;
    const passed = chapters.flatMap((c) => c.exercises).filter(({ id }) => id in data.passed).length;
    const cells = cellsOf(data);
    const code = cells ? ` Code that you typed is kept for ${count(cells, "cell")}.` : "";
    const lines = counted.map(([n, right], i) => n && `Of ${n} ${levels[i]}, ${right} right.`).filter(Boolean);
    place.replaceChildren(
      make("h2", {}, "Chapters"),
      make("p", {}, `${read} of ${count(chapters.length, "chapter")} read, ${count(passed, "exercise")} passed here. `
        + `A chapter counts as read when you have scrolled to its end, “What to keep”.${code}`),
      table("Chapters", ["Chapter", "Read", "Exercises passed", "Predictions made"], chapterRows(chapters, data)),
      make("h2", {}, "Predictions"),
      ...(total ? [
        make("p", {}, `${lines.join(" ")} The bar is the share that was right; the thin line reaches over all shares `
          + "that so few answers cannot rule out (95\u00a0%). Who knows what they know is more often right when sure."),
        drawing(counted),
      ] : [make("p", {}, "You have made none yet. Chapters ask you to predict before they show.")]),
      ...(rows.length ? [table("All predictions", ["Question", "Chapter", "You were", "It was"], rows)] : []),
      ...keptList(chapters, data, redraw),
    );
  };

  // The ways in and out.
  const said = make("p", { className: "progress-said" });
  said.setAttribute("role", "status");
  const button = (text, act) => {
    const made = make("button", { type: "button", className: "btn progress-button" }, text);
    made.addEventListener("click", act);
    return made;
  };
  const exportAll = () => {
    const file = new Blob([JSON.stringify(course.load(), null, 1)], { type: "application/json" });
    const href = URL.createObjectURL(file);
    make("a", { href, download: "attention-course-progress.json" }).click();
    setTimeout(() => URL.revokeObjectURL(href), 10000);
    said.textContent = "Exported.";
  };
  const file = make("input", { type: "file", accept: ".json,application/json", hidden: true });
  const importAll = (redraw) => async () => {
    const [chosen] = file.files;
    if (!chosen) return;
    try {
      const text = await chosen.text();
      let data;
      try { data = JSON.parse(text); } catch { throw new Error("it is not JSON"); }
      const theirs = course.checked(data), ours = summary(course.load());
      const question = `This browser keeps: ${ours}.\n${chosen.name} holds: ${summary(theirs) || "nothing"}.\n\n`
        + "Importing replaces the first by the second. There is no way back but a file that you exported.";
      if (ours && !confirm(question)) said.textContent = "Nothing was changed.";
      else {
        const kept = course.save(theirs);
        said.textContent = kept ? `Imported ${chosen.name}.${ours && " It replaced what was here."}`
          : `It could not be kept: ${course.blocked}.`;
        redraw();
      }
    } catch (wrong) {
      said.textContent = `Nothing was changed: ${chosen.name} cannot be imported, ${wrong.message}.`;
    }
    file.value = "";
  };
  const eraseAll = (redraw) => () => {
    if (!confirm("Erase all that this browser keeps about your progress?")) return;
    course.erase();
    said.textContent = "Erased.";
    redraw();
  };

  course.chapters().then((chapters) => {
    const redraw = () => draw(chapters, redraw);
    file.addEventListener("change", importAll(redraw));
    redraw();
    const all = course.openButton();
    all.classList.add("progress-button");
    place.after(make("h2", {}, "All answers"),
      make("p", {}, "If you teach, or read a second time, you may open what the questions of all chapters hide. "
        + "It is undone by the same button, and nothing is counted. ", all),
      make("h2", {}, "Your data"),
      make("p", { className: "progress-data" }, button("Export", exportAll), " ",
        button("Import", () => file.click()), " ", button("Erase", eraseAll(redraw)), file), said);
    addEventListener("storage", redraw); // another tab of this browser
  }, () => { place.textContent = "The list of chapters could not be loaded."; });
})();
