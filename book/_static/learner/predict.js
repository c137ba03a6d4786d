// Predictions: a question, how sure one is, and outputs that stay veiled until one has answered.
(() => {
  const words = ["It was a guess", "You were fairly sure", "You were sure"];

  // Make one question work. `known` is the answer given before, if any: {choice, sure, right},
  // with choice null where the reader asked to be shown. `answered` is told a new one and returns
  // what to say; `forgotten` is told when it goes.
  const ask = (box, known, answered, forgotten) => {
    const radios = [...box.querySelectorAll("input[type=radio]")];
    const replies = [...box.querySelectorAll(".predict-why")];
    const said = box.querySelector(".predict-said span");
    const forget = box.querySelector(".predict-forget");
    const isRight = (i) => replies[i].hasAttribute("data-right");
    const chosen = () => radios.findIndex((radio) => radio.checked);
    const hint = box.querySelector(".predict-hint"), advice = hint.textContent;

    const show = (text) => {
      box.classList.add("answered");
      replies.forEach((reply, i) => reply.classList.toggle("chosen", i === chosen()));
      if (text) said.textContent = text;
      forget.hidden = !forgotten;
    };
    const commit = (choice, sure) => {
      const given = { choice, sure, right: choice !== null && isRight(choice) };
      radios[choice ?? replies.findIndex((_, i) => isRight(i))].checked = true;
      show(answered(given));
      replies[chosen()].focus({ preventScroll: true }); // the button that had the focus is gone
    };
    for (const button of box.querySelectorAll(".predict-sure button")) {
      button.addEventListener("click", () => {
        if (button.value === "") commit(null, null);
        else if (chosen() >= 0) commit(chosen(), Number(button.value));
        else hint.textContent = "Choose an answer first.";
      });
    }
    // Afterwards one may read the other replies as well.
    for (const radio of radios) {
      radio.checked = false;
      radio.addEventListener("change", () => {
        if (box.classList.contains("answered")) show();
        else hint.textContent = advice;
      });
    }
    const reopen = () => {
      box.classList.remove("answered");
      replies.forEach((reply) => reply.classList.remove("chosen"));
      radios.forEach((radio) => { radio.checked = false; });
      forget.hidden = true;
      said.textContent = "";
      hint.textContent = advice;
    };
    forget.addEventListener("click", () => {
      reopen();
      radios[0].focus({ preventScroll: true });
      forgotten();
    });
    // Show the answer that is stored, where another one is shown; also told when that changes.
    const agree = (stored) => {
      if (!stored === !box.classList.contains("answered")) return;
      if (!stored) return reopen();
      const choice = stored.choice ?? replies.findIndex((_, i) => isRight(i));
      if (!radios[choice]) return; // the question was changed since
      radios[choice].checked = true;
      show(verdict(stored));
    };
    agree(known);
    return agree;
  };
  const verdict = ({ choice, sure, right }) => {
    if (choice === null) return "Shown, not counted.";
    return `${words[sure]}, and ${right ? "right" : "it was not so"}.`;
  };

  const lift = () => {
    const given = course.load().predictions;
    for (const veil of document.querySelectorAll(".veil")) {
      const lifted = veil.dataset.veil.split(" ").every((label) => label in given);
      veil.classList.toggle("lifted", lifted);
    }
  };
  const { predictions } = course.load();
  const asked = new Map();
  for (const box of document.querySelectorAll(".predict")) {
    const label = box.dataset.label;
    const answered = (given) => {
      course.change((data) => { data.predictions[label] = { page: course.page, ...given }; });
      lift();
      return verdict(given);
    };
    const forgotten = () => {
      course.change((data) => { delete data.predictions[label]; });
      lift();
    };
    asked.set(label, ask(box, predictions[label], answered, forgotten));
  }
  lift();
  addEventListener("storage", () => { // another tab of this browser
    const given = course.load().predictions;
    for (const [label, agree] of asked) agree(given[label]);
    lift();
  });
  course.ask = ask;
})();
