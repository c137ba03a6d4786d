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
  document.addEventListener("exercise-passed", ({ detail }) => {
    course.change((data) => { data.passed[detail.id] ??= course.today(); });
  });
})();
