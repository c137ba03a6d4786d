"""The sentences that the course reads maps of, written for it, each for one experiment."""

# Plain prose: each built differently, ten of them with a word that comes twice.
PLAIN = (
    "The cat sat on the mat",
    "She opened the door, and the dog ran into the garden.",
    "In 1905 Einstein published four papers; one explained Brownian motion.",
    "The keys to the cabinet are on the table, but the cabinet is locked.",
    "When the bank raised its rates, the river bank flooded.",
    "John told Mary that he would meet her at the station at noon.",
    "A small red car passed the old blue truck on the narrow road.",
    "Bake the bread for an hour, then let the bread cool.",
    "Nobody expected rain to stop before our game began.",
    "We measured the speed of light twice, and twice the speed was the same.",
    "His new phone is lighter than my old phone.",
    "Why do ducks sleep on one leg?",
    "Last winter three of my neighbours moved to Lisbon.",
    "Please read this page slowly and tell me what you find.",
    "Although it was late, everyone at the party kept dancing.",
    "Copper conducts heat better than steel, so cooks like copper pans.",
    "You may borrow my bicycle if you bring it back by Sunday.",
    "Most of the children had never seen snow.",
    "The mayor promised a new bridge, and the town waited for the bridge.",
    "Tea with milk costs less than coffee with milk.",
    "Her grandmother taught her to play chess when she was six.",
    "The train to Paris leaves at nine from platform two.",
    "If prices fall, farmers will plant less wheat next spring.",
    "There is a light in the window of the empty house.",
)

# No punctuation and no rare words, so that each word is one token: for masking word by word.
UNPUNCTUATED = (
    "The cat sat on the mat",
    "A small red car passed the old blue truck on the narrow road",
    "John told Mary that he would meet her at the station at noon",
    "Nobody expected the rain to stop before the game began",
    "His new phone is lighter than my old phone",
    "Most of the children had never seen snow",
    "The train to Paris leaves at nine from platform two",
    "There is a light in the window of the empty house",
    "Please read this page slowly and tell me what you find",
    "Tea with milk costs less than coffee with milk",
    "You may borrow my bicycle if you bring it back by Sunday",
    "The teacher asked the class to write about their summer",
)

# (phrase, its adjective): article, adjective, the only noun, and a word of another kind.
ADJECTIVES = (
    ("She bought the red car yesterday", "red"),
    ("He read the old book twice", "old"),
    ("They crossed the narrow bridge slowly", "narrow"),
    ("I fed the hungry dog again", "hungry"),
    ("We met the young doctor later", "young"),
    ("You closed the heavy door quietly", "heavy"),
    ("Nobody liked the new song here", "new"),
    ("They sold the empty house quickly", "empty"),
    ("He saw the bright star first", "bright"),
    ("Somebody broke the green bottle today", "green"),
    ("We left the busy airport early", "busy"),
    ("She painted the wooden chair herself", "wooden"),
    ("They feared the angry king greatly", "angry"),
    ("He found the lost key outside", "lost"),
    ("Everyone admired the tall tower together", "tall"),
    ("I ate the ripe apple alone", "ripe"),
)

# (sentence, first noun, second noun, ending that makes "it" the first, ... the second).
# The first is Uszkoreit 2017, the second from the Winograd schemas, the others are built alike.
PRONOUNS = (
    (
        "The animal didn't cross the street because it was too {}.",
        "animal",
        "street",
        "tired",
        "wide",
    ),
    (
        "The trophy did not fit in the suitcase because it was too {}.",
        "trophy",
        "suitcase",
        "big",
        "small",
    ),
    ("The ball broke the table because it was made of {}.", "ball", "table", "steel", "glass"),
    (
        "The truck did not pass under the bridge because it was too {}.",
        "truck",
        "bridge",
        "tall",
        "low",
    ),
    (
        "The book did not fit on the shelf because it was too {}.",
        "book",
        "shelf",
        "thick",
        "narrow",
    ),
    ("The dog could not get through the door because it was {}.", "dog", "door", "fat", "locked"),
    (
        "The boat could not enter the harbor because it was too {}.",
        "boat",
        "harbor",
        "wide",
        "shallow",
    ),
    ("The cat did not sleep on the chair because it was {}.", "cat", "chair", "hungry", "broken"),
    ("The bus did not use the road because it was {}.", "bus", "road", "full", "flooded"),
    (
        "The piano did not fit through the door because it was too {}.",
        "piano",
        "door",
        "wide",
        "narrow",
    ),
    ("The ladder did not reach the roof because it was too {}.", "ladder", "roof", "short", "high"),
    (
        "The blanket did not cover the bed because it was too {}.",
        "blanket",
        "bed",
        "small",
        "large",
    ),
    (
        "The picture did not fit in the frame because it was too {}.",
        "picture",
        "frame",
        "big",
        "small",
    ),
    ("The coin did not fit in the slot because it was too {}.", "coin", "slot", "thick", "narrow"),
    (
        "The arrow did not pierce the shield because it was too {}.",
        "arrow",
        "shield",
        "blunt",
        "thick",
    ),
    ("The snake did not swallow the rat because it was too {}.", "snake", "rat", "small", "large"),
)

# (sentence, the same words in another order): a score of word order needs both.
TWINS = (
    ("The dog chased the cat", "The cat chased the dog"),
    ("The teacher thanked the student", "The student thanked the teacher"),
    ("Rome sent an army to Egypt", "Egypt sent an army to Rome"),
    ("The son is taller than the father", "The father is taller than the son"),
    ("The police followed the driver", "The driver followed the police"),
    ("Milk was added to the coffee", "Coffee was added to the milk"),
    ("The company sued the bank", "The bank sued the company"),
    ("Anna lent Peter the money", "Peter lent Anna the money"),
    ("The box is on the book", "The book is on the box"),
    ("The king feared the queen", "The queen feared the king"),
    ("The red team beat the blue team", "The blue team beat the red team"),
    ("She left before he arrived", "He left before she arrived"),
)
