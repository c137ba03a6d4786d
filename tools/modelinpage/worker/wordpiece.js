// MiniLM's tokenizer: words, then the longest pieces of them that are in the vocabulary.
// attention_src/models/minilm/wordpiece.py does the same in Python.

const SPECIAL = /(\[(?:PAD|UNK|CLS|SEP|MASK)\])/; // may be typed: [MASK] hides a word
const LONGEST = 100; // characters; a longer word is unknown
const BLANK = /[\t\n\r\p{White_Space}]/u;
const DROPPED = /[\0\ufffd\p{Cc}\p{Cf}\p{Cn}\p{Co}]/u;
const MARK = /\p{Mn}/u;
const SIGN = /[!-/:-@[-`{-~\p{P}]/u; // of ASCII, all that is no letter, digit or blank
const HAN = [
  ...[[0x4e00, 0x9fff], [0x3400, 0x4dbf], [0x20000, 0x2a6df], [0x2a700, 0x2b73f]],
  ...[[0x2b740, 0x2b81f], [0x2b920, 0x2ceaf], [0xf900, 0xfaff], [0x2f800, 0x2fa1f]],
];

const isHan = (letter) => {
  const code = letter.codePointAt(0);
  return HAN.some(([first, last]) => first <= code && code <= last);
};

function clean(letter) {
  if (/[\t\n\r]/.test(letter)) return " ";
  if (DROPPED.test(letter)) return "";
  if (isHan(letter)) return ` ${letter} `;
  return BLANK.test(letter) ? " " : letter;
}

// Without control characters and accents, in lower case; each sign and each Han character alone.
function cutWords(text) {
  // Letter by letter: JavaScript writes a Σ at the end of a word as ς, the original does not.
  const small = [...[...text].map(clean).join("").normalize("NFD")]
    .filter((letter) => !MARK.test(letter))
    .map((letter) => letter.toLowerCase());
  const apart = [...small.join("")].map((letter) => (SIGN.test(letter) ? ` ${letter} ` : letter));
  return apart.join("").split(/\p{White_Space}+/u).filter(Boolean);
}

function pieces(word, ids) {
  const letters = [...word];
  const found = [];
  if (letters.length > LONGEST) return ["[UNK]"];
  for (let start = 0, end; start < letters.length; start = end) {
    let piece;
    for (end = letters.length; end > start; end--) {
      piece = (start ? "##" : "") + letters.slice(start, end).join("");
      if (ids.has(piece)) break;
    }
    if (end === start) return ["[UNK]"];
    found.push(piece);
  }
  return found;
}

export const readVocabulary = (text) =>
  new Map(text.split("\n").filter(Boolean).map((token, id) => [token, id]));

// { tokens, ids }: [CLS], the pieces of the text, [SEP].
export function tokenize(text, ids) {
  const parts = text.split(SPECIAL).map((part) =>
    SPECIAL.test(part) ? [part] : cutWords(part).flatMap((word) => pieces(word, ids)),
  );
  const tokens = ["[CLS]", ...parts.flat(), "[SEP]"];
  return { tokens, ids: tokens.map((token) => ids.get(token)) };
}
