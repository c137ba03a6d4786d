// What can be said about 72 maps of one sentence; a view is what places.js says. sentence72.py does
// the same.

import { COUNT, add, amount, label, largest, percent, range, shares, weight, words } from "./places.js";

// What is said about all heads, and about one.
export function saidOfAll(view) {
  const [looks, takes] = Object.keys(amount).map(
    (kind) => range(COUNT).filter((head) => shares(view, kind, head)["[CLS]"] > 0.5).length,
  );
  return (
    `In this sentence ${looks} of 72 heads give more than half of their words’ weight to [CLS]; ` +
    `${takes || "none"} take${takes > 1 ? "" : "s"} more than half of what ` +
    `${takes > 1 ? "they add" : "it adds"} from there.`
  );
}

export function saidOfHead(view, head) {
  const [p, c] = Object.keys(amount).map((kind) => shares(view, kind, head));
  const [looks, brings] = [largest(p), largest(c)];
  const more = looks === brings ? "" : ` and ${percent(c[brings])} from ${brings}`;
  return (
    `${label(head)} gives ${percent(p[looks])} of its words’ weight to ${looks}; ` +
    `of what it adds, ${percent(c[looks])} comes from there${more}.`
  );
}

// How much of a head's weight went elsewhere, from one view to another: 0 nothing, 1 all of it.
export function shifted(view, other, head) {
  const all = range(view.tokens.length);
  const rows = words(view).map(
    (i) => add(all.map((j) => Math.abs(weight(view, head, i, j) - weight(other, head, i, j)))) / 2,
  );
  return add(rows) / rows.length;
}

// What one silent head does: how far the sentence's vector turns, and which head above changes most.
export function saidOfSilence(whole, view, { head, by }) {
  const turn = (Math.acos(Math.min(1, view.cosine)) * 180) / Math.PI;
  const instead = by === "zero" ? "output set to 0" : "output set to its mean";
  const start = `Without ${label(head)} (${instead}) the sentence’s vector turns by ${turn.toFixed(1)}°.`;
  const above = range(COUNT).slice(12 * (Math.floor(head / 12) + 1));
  if (!above.length) return start;
  const shift = above.map((one) => shifted(whole, view, one));
  const one = above[shift.indexOf(Math.max(...shift))];
  const [before, after] = [whole, view].map((each) => shares(each, "weight", one));
  const rise = Object.fromEntries(Object.keys(after).map((place) => [place, after[place] - before[place]]));
  const place = largest(rise);
  return (
    `${start} In the layers above, ${label(one)} changes most: ` +
    `${percent(before[place])} of its weight on ${place} became ${percent(after[place])}.`
  );
}
