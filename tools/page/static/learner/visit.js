// A chapter counts as read when its end has been in view; an exercise as passed when whoever runs
// its check says so: document.dispatchEvent(new CustomEvent("exercise-passed", {detail: {id}})).
(() => {
  const end = document.querySelector("#what-to-keep :is(h2, h3)");
  const seen = new IntersectionObserver((entries) => {
    if (!entries.some((entry) => entry.isIntersecting)) return;
    seen.disconnect();
    course.change((data) => { data.read[course.page] ??= course.today(); });
  });
  if (end) seen.observe(end);

  // A passed exercise says so in its title.
  const mark = () => {
    const { passed } = course.load();
    for (const title of document.querySelectorAll("div.exercise[id] > .admonition-title")) {
      const day = passed[title.parentElement.id];
      title.querySelector(".exercise-passed")?.remove();
      if (!day) continue;
      const tick = document.createElement("span");
      tick.className = "exercise-passed";
      tick.textContent = "✓ Passed";
      tick.title = `Passed in this browser on ${day}`;
      title.append(" ", tick);
    }
  };
  document.addEventListener("exercise-passed", ({ detail }) => {
    course.change((data) => { data.passed[detail.id] ??= course.today(); });
    mark();
  });
  addEventListener("storage", mark); // another tab of this browser
  mark();
})();
