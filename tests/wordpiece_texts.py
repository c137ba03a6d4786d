"""500 varied texts for tokenizers: prose, many scripts, emoji, signs, long words, blanks."""

import random

from tokenizers import Tokenizer

from attention_src.models.install import folder
from attention_src.models.minilm.sentences import PLAIN

STOCK = [
    *"""Crème brûlée à la façon de l'Île-de-France
naïve façade, jalapeño & São Tomé — 50 €
注意力机制很有趣
東京タワーは高い
안녕하세요 세계
Привет, как дела?
ΟΔΥΣΣΕΥΣ ἄνδρα μοι ἔννεπε
مرحبا بالعالم
שלום עולם
नमस्ते दुनिया
ภาษาไทย
Tiếng Việt có dấu
İstanbul ığüşöç
ẞ ß Straße ŒUVRE æ
👍🏽 great 👨‍👩‍👧‍👦 family 🇵🇹
I ❤️ NY
don't won't it's 'quoted' “curly” ‘single’
C++ & C# @home #tag $5.00 50% a_b a^b ~x~ `code` <tag> {x}|y
https://example.org/a?b=c&d=e
e-mail: first.last@example.org
antidisestablishmentarianism
Llanfairpwllgwyngyllgogerychwyrndrobwllllantysiliogogogoch
Donaudampfschifffahrtsgesellschaftskapitän
3.14159 1,000,000 10^-7 x²+y³ ½ ⅓ №5 Ⅳ
…—–‐‑ ¿qué? ¡sí!
[MASK] sat on the [SEP] mat [UNK]
[mask] [ CLS ]
a[MASK]b
ﬁ ligature ﬀ
ＦＵＬＬ ｗｉｄｔｈ
𝔉𝔯𝔞𝔨𝔱𝔲𝔯
𠀀𪜀
﷽""".splitlines(),
    "a\tb\nc\r\nd",
    "x\u00a0y\u2003z\u3000w",
    "zero\u200bwidth soft\u00adhyphen",
    "\ufeffbom",
    "bad \ufffd char",
    "e\u0301 combining A\u030a",
    "x" * 100,
    "y" * 101,
    "\u212a \u212b \u2126",  # Kelvin, Ångström and Ohm signs
]
LETTERS = (
    "abcdefghijklmnopqrstuvwxyzéèüñçøåßœ.,;:!?()[]'\"-_/\\€£¥§°µ×÷αβγδΣςжщы我你他한글かなカナ🙂🚀"
)


def texts(count: int = 500) -> list[str]:
    """The stock, then by turns words and letters of it in random order."""
    rng = random.Random(0)
    out = [*PLAIN, *STOCK]
    words = " ".join(out).split(" ")
    letters = "".join(out) + LETTERS
    while len(out) < count:
        if len(out) % 2:
            text = " ".join(rng.choice(words) for _ in range(rng.randint(1, 14)))
        else:
            text = "x" + "".join(rng.choice(letters) for _ in range(rng.randint(1, 60)))
        if text not in out:
            out.append(text)
    return out


def original() -> Tokenizer:
    """MiniLM's tokenizer as the package tokenizers has it."""
    made = Tokenizer.from_file(str(folder("minilm") / "model" / "tokenizer.json"))
    made.no_padding()
    made.no_truncation()
    return made
