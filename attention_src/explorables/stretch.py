"""The explorable "stretch": one number of all w times a factor, of all k divided by it."""

import numpy as np

from attention_src.explorables.drawing import Explorable

PRESS = ("slider", "times", "ArrowRight")
SAYS = "no product has changed"
THINGS = ["pear", "plum", "cherry", "quince", "cat", "horse", "goat", "rabbit"]
THINGS += ["sofa", "couch", "chair", "bench"]
# The first start of the chapter *Embeddings*, trained: the rows of w for the things, and those of k
# for the three verbs and three looks of each kind, 16 numbers each, in thousandths. A test trains
# again.
W = np.loadtxt(
    """
     -221   473 -2207   468   467  1521   411   104  1307  1152  -248  -106   427   422 -1151    36
     -643   644 -1990   441   352  1426   401   233  1315  1368    96   221   -48    71 -1276   179
     -329   597 -1973   427   470  1331   699   147  1307  1586  -376   135   -42   228 -1223   111
     -388   640 -2206   386   222  1497   547   295  1240  1355   -86     5   287   188 -1226   123
     1051  -779  -684   815  -589  1056  -821  1976    38  1128  -588   721  -652 -1382    76   118
      630  -604  -832  1210  -487   896 -1147  1433   223   973  -903   483  -917 -1587   146  -143
     1006  -393  -965  1181  -602  1272 -1084  1616  -319   778  -869   553  -600 -1355    99  -205
     1003  -614 -1010  1107  -545  1007 -1322  1672    51   785  -631   512  -685 -1370   130  -116
       36   995  -401  -588  1654  1331 -1598   398   369  1268  -295  -362  -925     2   289   966
      351   818  -357  -569  1878  1236 -1515   554   285  1372  -445  -245  -928   233   214   953
       99   924  -744  -492  1649  1662 -1883   216   231   925  -115  -301 -1042   207   377   658
      -70  1106  -135  -601  1596  1514 -1660   739   -65  1387     0  -129  -800   -23   129  1141
    """.splitlines()
)
K = np.loadtxt(
    """
    -1615   433  -447  1278   -33  -635  1979  -198   768 -1217   711  -408    -2   989   424  -358
    -1233   697  -411  1362   284  -755  2217  -393   799 -1384   -49  -450    57  1051   383  -438
    -1541   697  -369  1050   103  -739  2193  -204   759 -1137   557  -230  -278   968   393  -349
     -119    94  -966   525  -387 -1152  1967 -1633  -237 -1023   631    28   134   641 -1255  1379
     -282    73  -448   349  -277  -623  2191 -1472  -158  -968   693   150   361   556 -1214  1523
     -332    84  -567   468   -52  -614  2065 -1560  -572 -1036   576   121   400   718 -1409  1341
     -360  -929   260   650  -248 -1087   778  1589  -913 -2032   -43   137  -684  -619  1014  -633
     -649 -1119   309   761  -247 -1622   405  1767  -660 -1954    72   -63  -439  -817   864  -320
     -337 -1151   174  1060    92 -1148   482  1339  -743 -2195  -239    91  -637  -432   927  -750
      948 -1838   264   803  -935  -730   460  -688  -878 -1941    58   730  -908  -986   164   911
     1251 -1375   421   769  -958  -239   863  -843  -629 -1793  -285   770 -1061  -802   579   651
      967 -1162   346   326 -1216  -543   703  -590  -714 -1802   -19   695 -1141 -1233   496   992
    -1457   686   525  -467  1159  -735   421   -92 -1212 -1077  -120 -1344 -1007   811  1777   426
    -1029   553   757  -408  1445  -723   490    11  -909 -1095  -245 -1110  -876  1000  1703   304
    -1094   842   641  -343  1504  -692   320   189 -1531 -1257   -27 -1112  -545  1028  1250   292
      667  -120  1124  -285   961  -694  -209 -1266  -582 -1001   827  -378  -632   919   781  2043
      588   138   787  -604   808  -579  -237 -1356  -466 -1394   824  -648  -420   713   738  2210
      447    47   798  -475   649  -608  -305 -1111  -729 -1091  1284  -448  -635   800   730  2066
    """.splitlines()
)
PAIR = [0, 8]  # pear and sofa


def stretched(number: int, times: float) -> tuple[np.ndarray, np.ndarray]:
    """Products and cosines after the stretch.

    Args:
        number: which of the 16 numbers
        times: by how much it grows in w and shrinks in k
    Returns: the products of w with k [12, 18], and the cosines of the rows of w [12, 12]
    """
    scale = np.where(np.arange(16) == number, times, 1.0)
    w, k = W / 1000 * scale, K / 1000 / scale
    unit = w / np.sqrt((w**2).sum(axis=1, keepdims=True))
    return w @ k.T, unit @ unit.T


def make(number: int = 5, power: float = 0.0) -> Explorable:
    """Number 5, before it is stretched.

    Args:
        number: which of the 16 numbers, from 0
        power: the factor as a power of ten, from 0 to 2
    Returns: what the page is made from
    """
    given = {
        "things": THINGS,
        "w": (W / 1000).tolist(),
        "k": (K / 1000).tolist(),
        "pair": PAIR,
        "number": number,
        "power": power,
    }
    cosine = stretched(number, 10**power)[1][PAIR[0], PAIR[1]]
    return Explorable(
        given,
        "Two tables of squares: the products of twelve things with eighteen words, w and k, and "
        f"the cosines of the things, where pear and sofa have {cosine:.2f}.",
        f"Number {number} times {10**power:.0f}: the cosine of pear and sofa is {cosine:.2f}. An "
        "interactive figure: choose one of the 16 numbers and stretch it, and see which of the "
        "tables moves. It needs JavaScript; here is its first state.",
        "What moves if one number is stretched in w and squeezed in k?",
    )
