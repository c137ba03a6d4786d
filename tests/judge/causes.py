"""The mutants' causes in plain words, and what the judge's key must match to have named them.

The words of mutants/*.txt were written first, without knowing the keys. RARE ones are of a mistake
that nobody was seen to make: it is right to say "cause unknown" of these.
"""

RARE = "cause unknown|"

_GROUPS = {
    # Scale
    "not scaled": "not scaled",
    "scaled twice": "scaled twice",
    "multiplied by √d": "multiplied by the root",
    "√ of the number of (keys|queries)": "scaled by the number of keys, scaled by the number of tokens, "
    "scaled by the number of queries, scaled by the length",
    "values' width": "scaled by the width of values",
    "model's width": "scaled by the model's width, scaled by heads",
    "number of heads": "scaled by the number of heads",
    "fourth root": "fourth root",
    "values scaled|not scaled|after the softmax": "scaled after softmax",
    # Softmax
    "over the queries|queries mix": "softmax along queries",
    "over the heads|heads mix": "softmax over heads",
    "over the texts|texts mix": "softmax over texts",
    "over everything|whole table|one sum": "softmax over everything, over everything",
    "not divided|not normal|divided by|do not sum": "not normalised, not divided",
    "softmax twice": "softmax twice",
    "no softmax|not exp": "no softmax",
    "powers of 2|base 2": "other softmax, other base",
    "log": "log softmax, logarithm",
    "no maximum|maximum|large scores": "no maximum, minimum for maximum, mean for the maximum, "
    "one maximum for all, first for the maximum, one maximum for the tile",
    "axis|over the|column|whole|rows": "wrong axis, axis ignored",
    "writes|in-place": "writes into its input",
    "not divided|sum|mean|divided by|length": "mean for the sum, divided by the root, added a little, "
    "mean instead of sum, weights shrink",
    "negat|sign|minus": "negative",
    # Masks
    "mask not used|mask only|switch|ignored": "mask ignored",
    "mask zeroes|weak|mask as a number": "mask hides with zero, mask hides with a tiny number, "
    "mask before softmax hides with zero, mask multiplied, hides too little",
    "large number|sign|mask|hides": "mask hides with a large number, mask subtracted",
    "after the softmax": "mask after softmax",
    "on the queries|rows|transposed": "mask on queries",
    "off by one|one key|more|ahead": "one more key, one key more",
    "off by one|one key|less|few": "one key less",
    "hides|upside|transposed|wrong ones|polarity|inverted|future": "hides the wrong ones, hides what may be seen, "
    "hides what is above",
    "another text|first text|text": "mask of the first text, first text for all",
    # Causal
    "own key": "own token hidden, own token left out",
    "one key ahead": "one token ahead",
    "upside|future alone|transposed": "upside down",
    "causal|future|ahead|sees": "sees the future, causal flag ignored, causal within tiles only",
    "top left|corner|diagonal|differs": "diagonal at the wrong corner",
    "pieces|ahead|future": "looks ahead within a piece",
    "NaN|not a number": "not a number",
    # Keys and values
    "keys for values|values from": "keys as values, keys and values exchanged, values from the keys, "
    "keys' weights for values",
    "swapped|exchanged|some lengths|by luck": "queries and keys exchanged, queries and keys' weights exchanged",
    "weights transposed": "weights transposed",
    "keys reshaped|cut without": "keys transposed wrongly",
    "input|projection|values from|keys from|queries for": "values from the queries' input, keys from the queries' input",
    # Heads and texts
    "cut without turning|reshaped|split": "keys split without turning, all split without turning, "
    "values split without turning",
    "joined": "joined without turning, joined by the wrong axes",
    "heads mix|another head|heads|head": "heads mix, groups mix, first head for all, values summed over heads",
    "texts|text|batch": "texts mix, only the first text",
    "W_O|last projection|output projection|not projected|w_o": "output not projected, output projected twice, "
    "output projected by the transposed",
    "random": "dropout stays on, new weights in each call",
    # Grouped
    "in turns": "heads dealt in turn",
    "values shared in turns": "only values dealt in turn",
    "keys shared in turns": "only keys dealt in turn",
    "one key head": "first group for all",
    "group|key head|head": "groups of the wrong size, off by one head, heads come out in another order",
    # Rotations
    "not a rotation|lengths change|not relative|odd pairs": "not a rotation, cos and sin exchanged, "
    "pairs of tables and of the turn differ, sine added\\, not multiplied, length lost, "
    "overwritten before it is read, sine of the cosine's table, last pair not turned",
    "frequenc": "other frequencies, grows instead of falls, one angle for all pairs, degrees",
    "positions|relative": "positions ignored, positions across the features, one position for all, "
    "positions rounded to tens, position squared",
    "keys|quer|one of|relative|back": "only the queries, keys turned back, turned twice, keys get the queries",
    # Caches
    "tokens lost|differs|order|front|overwrit": "new ones in front, only keys in front, values not kept, "
    "forgets what came before, returns what was, returns only the new, first token twice, "
    "values exchanged with keys, written at the beginning, one row too late, values written to keys, "
    "keys in front\\, values behind, cache not used, returns the old cache, keeps only the new, "
    "texts share rows",
    "axis|lost|heads|texts|shape|positions|relative": "along the heads, along the texts",
    "layers": "layers share",
    "share|second|not the same|lost": "texts share a store",
    # Tiles
    "output is not rescaled|rescal|shrunk|old sum|acc": "output not rescaled, sum not rescaled, nothing rescaled, "
    "rescaled the wrong way, maximum not kept, maximum of the tile alone, old ones not weighed, "
    "old maximum for the weights",
    "tile|lost|twice|last|divided": "last tile lost, tiles overlap, divided in the loop, sum of the last tile, "
    "output of the last tile, values of the first tile, tile after tile forgotten",
    "merge|log-sum-exp|lse|parts|maximum": "parts weigh the same, maximum left out of the sum, weighed by the log, "
    "sum left out",
}

_RARE = (
    "sigmoid, distance, relu, absolute scores, window of two, only the last token, "
    "keys shifted, values shifted, values reversed, overwritten, wrong key, first key left out, "
    "values split otherwise than keys, softmax over the group, divided by the maximum"
)


def _listed(words):
    parts = words.replace("\\,", "§").split(", ")
    return [part.replace("§", ",") for part in parts]


PATTERNS = {cause: pattern for pattern, words in _GROUPS.items() for cause in _listed(words)}
PATTERNS |= {cause: RARE + cause for cause in _listed(_RARE)}
