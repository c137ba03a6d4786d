// Predictions: a question, how sure one is, and outputs that stay veiled until one has answered.
(() => {
  const words = ["It was a guess", "You were fairly sure", "You were sure"];

  // Make one question work. `known` is the answer given before, if any: {choice, sure, right}, with
  // choice null where the reader asked to be shown, and `opened` where all answers are open. A choice
  // is the value of an option, which stays its own wherever it stands. `answered` is told a new one and
  // returns what to say; `forgotten` is told when it goes.
  const ask = (box, known, answered, forgotten) => {
    const radios = [...box.querySelectorAll("input[type=radio]")];
    const replies = [...box.querySelectorAll(".predict-why")];
    const said = box.querySelector(".predict-said span");
    const forget = box.querySelector(".predict-forget");
    const isRight = (radio) => replies[radios.indexOf(radio)].hasAttribute("data-right");
    const chosen = () => radios.find((radio) => radio.checked);
    const radioOf = (choice) => radios.find(({ value }) => value === `${choice}`);
    const hint = box.querySelector(".predict-hint"), advice = hint.textContent;
    let state = ""; // or "opened" or "answered"

    const show = (text, kind = state) => {
      state = kind;
      box.classList.add("answered");
      replies.forEach((reply, i) => reply.classList.toggle("chosen", radios[i].checked));
      if (text) said.textContent = text;
      forget.hidden = !forgotten || state === "opened";
    };
    const commit = (choice, sure) => {
      const radio = choice === null ? radios.find(isRight) : chosen();
      radio.checked = true;
      show(answered({ choice, sure, right: choice !== null && isRight(radio) }), "answered");
      replies[radios.indexOf(radio)].focus({ preventScroll: true }); // the button with the focus is gone
    };
    for (const button of box.querySelectorAll(".predict-sure button")) {
      button.addEventListener("click", () => {
        if (button.value === "") commit(null, null);
        else if (chosen()) commit(Number(chosen().value), Number(button.value));
        else hint.textContent = "Choose an answer first.";
      });
    }
    // Afterwards one may read the other replies as well.
    for (const radio of radios) {
      radio.checked = false;
      radio.addEventListener("change", () => {
        if (state) show();
        else hint.textContent = advice;
      });
    }
    const reopen = () => {
      state = "";
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
      const wanted = !stored ? "" : stored.opened ? "opened" : "answered";
      if (wanted === state) return;
      if (!stored) return reopen();
      const radio = stored.choice === null ? radios.find(isRight) : radioOf(stored.choice);
      if (!radio) return; // the question was changed since
      radio.checked = true;
      show(verdict(stored), wanted);
    };
    agree(known);
    return agree;
  };
  const verdict = ({ choice, sure, right, opened }) => {
    if (opened) return "Open, like all answers. Nothing is counted.";
    if (choice === null) return "Shown, not counted.";
    return `${words[sure]}, and ${right ? "right" : "it was not so"}.`;
  };

  const asked = new Map(); // a question's label: how to make it show what is stored
  const opened = { choice: null, opened: true };
  const lift = () => {
    const { predictions } = course.load(), open = course.isOpen();
    for (const veil of document.querySelectorAll(".veil")) {
      const lifted = veil.dataset.veil.split(" ").every((label) => label in predictions);
      veil.classList.toggle("lifted", open || lifted);
    }
  };
  const agree = () => {
    const { predictions } = course.load(), open = course.isOpen();
    for (const [label, show] of asked) show(predictions[label] ?? (open ? opened : undefined));
    lift();
  };
  for (const box of document.querySelectorAll(".predict")) {
    const { label } = box.dataset;
    const answered = (given) => {
      course.change((data) => { data.predictions[label] = { page: course.page, ...given }; });
      lift();
      return verdict(given);
    };
    const forgotten = () => {
      course.change((data) => { delete data.predictions[label]; });
      agree();
    };
    asked.set(label, ask(box, undefined, answered, forgotten));
  }
  agree();

  // Who teaches, or reads a second time, may open all answers: on the first question of a page.
  const head = document.querySelector(".predict .predict-head");
  if (head) {
    head.append(course.openButton());
    document.addEventListener("answers-opened", agree);
  }
  addEventListener("storage", agree); // another tab of this browser

  // On paper the answers stand at the end: what was asked, and the reply to what is right.
  const answers = () => {
    const list = document.createElement("ol");
    for (const box of document.querySelectorAll("article .predict")) {
      const reply = box.querySelector(".predict-why[data-right]").cloneNode(true);
      reply.querySelector("strong").remove(); // "Right."
      const right = [...box.querySelectorAll(".predict-why")].findIndex((why) => "right" in why.dataset);
      const words = document.createElement("p");
      words.append(...box.querySelectorAll(".predict-option")[right].lastElementChild.cloneNode(true).childNodes);
      const item = document.createElement("li");
      item.append(words, ...reply.childNodes);
      item.querySelectorAll("[id]").forEach((part) => part.removeAttribute("id"));
      list.append(item);
    }
    const section = document.createElement("section"), title = document.createElement("h2");
    section.className = "paper-answers";
    title.textContent = "Answers to the predictions";
    section.append(title, list);
    return section;
  };
  if (head) {
    document.addEventListener("to-paper", () => document.querySelector("article").append(answers()));
    document.addEventListener("from-paper", () => document.querySelector(".paper-answers")?.remove());
  }
  course.ask = ask;
})();
