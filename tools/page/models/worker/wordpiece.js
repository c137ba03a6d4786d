// MiniLM's tokenizer: words, then the longest pieces of them that are in the vocabulary.
// attention_src/models/minilm/wordpiece.py does the same in Python.

import { DROPPED, HAN, MARKS, SIGNS, oneOf } from "./characters.js";

const SPECIAL = /(\[(?:PAD|UNK|CLS|SEP|MASK)\])/; // may be typed: [MASK] hides a word
const LONGEST = 100; // characters; a longer word is unknown
const [DROP, MARK, SIGN, HAN_CHARACTER] = [DROPPED, MARKS, SIGNS, HAN].map(oneOf);

// Without control characters and accents, in lower case; each sign and each Han character alone.
function cutWords(text) {
  const cleaned = text.replace(DROP, "").replace(HAN_CHARACTER, " $& ");
  const plain = cleaned.normalize("NFD").replace(MARK, "");
  // Letter by letter: JavaScript writes a Σ at the end of a word as ς, the original does not.
  const small = [...plain].map((letter) => letter.toLowerCase()).join("");
  return small.replace(SIGN, " $& ").split(/\p{White_Space}+/u).filter(Boolean);
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
