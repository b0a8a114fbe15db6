"""Unicode 12.1 word breaking in the form that `word_breaks` reads. Generated: see tests/unit/search/make.

Made from the Unicode Character Database, Copyright 1991-2019 Unicode, Inc., by way of the npm package
@unicode/unicode-12.1.0, under the licence in UNICODE_LICENSE.txt, which has to accompany it.
"""

# The roles that the characters of a class have in the grammar of the standard tokenizer.
ROLES = {
    "a": "",
    "b": "double_quote",
    "c": "keycap_base",
    "d": "mid_letter mid_number single_quote",
    "e": "mid_number",
    "f": "mid_letter mid_number",
    "g": "keycap_base numeric",
    "h": "mid_letter",
    "i": "letter",
    "j": "joiner",
    "k": "emoji",
    "l": "extend",
    "m": "hebrew",
    "n": "numeric",
    "o": "south_east_asian",
    "p": "extend south_east_asian",
    "q": "extend zwj",
    "r": "extend keycap",
    "s": "emoji letter",
    "t": "han",
    "u": "han letter",
    "v": "katakana",
    "w": "hiragana",
    "x": "extend text_style",
    "y": "emoji_style extend",
    "z": "regional",
    "A": "extend modifier",
    "B": "extend tag",
    "C": "extend tag_end",
}

# The distance of each run's first code point from the one before, in base 36.
GAPS = (
    "0 y 1 1 3 1 2 1 1 1 1 1 1 a 1 1 5 q 4 1 1 q 1a 1 1 2 1 1 6 1 1 1 2 1 5 n 1 v 1 dc 6 7 7 k 34 5 1 2 2 4 1 1 "
    "6 1 1 3 1 1 1 k 1 2b 1 3v 1 7 4m 1 12 2 1 1 2 1 1 1 15 1 7 19 1 1 1 2 1 2 1 1 8 r 4 4 1 1 b 6 6 2 2 b 1 1 3 "
    "17 l a 1 1 1 1 2 1 2r 1 1 8 1 6 2 2 1 4 2 a 3 2 1 f 1 1 1 u r 2 2h b 1 e a x 9 2 2 1 1 1 2 1 2 m 4 1 9 1 3 "
    "1 5 i p 3 4 b 1h l 1 8 l 1d 1i 3 1 i 1 7 a 2 2 a 1 g 3 1 8 2 2 2 m 1 7 1 1 3 4 2 1 1 7 2 2 2 3 1 8 1 4 2 1 "
    "3 2 2 a 2 a 1 1 1 2 3 1 6 4 2 2 m 1 7 1 2 1 2 1 2 2 1 1 5 4 2 2 3 3 1 7 4 1 1 7 a 2 3 1 b 3 1 9 1 3 1 m 1 7 "
    "1 2 1 5 2 1 1 8 1 3 1 3 2 1 f 2 2 2 a 9 1 6 1 3 1 8 2 2 2 m 1 7 1 2 1 5 2 1 1 7 2 2 2 3 8 2 4 2 1 3 2 2 a 1 "
    "1 g 1 1 1 6 3 3 1 4 3 2 1 1 1 2 3 2 3 3 3 c 4 5 3 3 1 4 2 1 6 1 e a g 5 8 1 3 1 n 1 g 3 1 7 1 3 1 4 7 2 1 3 "
    "5 2 2 2 a g 1 3 1 8 1 3 1 n 1 a 1 5 2 1 1 7 1 3 1 4 7 2 7 1 1 2 2 2 a 1 2 d 4 1 8 1 3 1 15 2 1 7 1 3 1 4 1 "
    "5 3 1 7 3 2 2 a a 6 2 2 1 i 3 o 1 9 1 1 2 7 3 1 4 6 1 1 1 8 6 a 2 2 d 1c 1 2 7 5 7 8 1 a 13 2 1 1 1 5 1 o 1 "
    "1 1 a 1 2 9 1 2 5 1 1 1 6 2 a 2 4 w 1 n 2 6 a b 1 1 1 1 1 4 2 8 1 10 4 k 1 2 5 b 1 10 9 1 1l 17 k 1 a 6 6 4 "
    "4 3 1 3 2 7 3 4 d c 1 1 a 4 2 12 1 1 5 1 2 17 1 99 1 4 2 7 1 1 1 4 2 15 1 4 2 x 1 4 2 7 1 1 1 4 2 f 1 1l 1 "
    "4 2 1v 2 3 w g g 2e 2 6 3 h8 2 h 1 q 5 23 3 b 7 d 1 4 3 b i 3 b i 2 c d 1 3 1 2 c 1g w 3 1 4 1 1 2 a x 4 1 "
    "a 6 2h 7 5 2 y 1 1 5 1y a v 1 c 4 c a a u 2 5 b 18 4 q 6 a 1 3 2 w n 5 4 1h a 1 t 2 1 a 6 a 6 e 2 f 1t 5 1b "
    "h 7 4 a h 9 c 3 u d 2 a 18 e c 10 k 8 a 3 3 a 10 2 9 7 17 2 3 g 3 1 l 4 1 6 1 2 3 1 5 5c 1m 1 5 7q 2 6 2 12 "
    "2 6 2 8 1 1 1 1 1 1 1 v 2 1h 1 7 1 1 3 3 1 7 3 4 2 6 4 d 5 3 1 7 f 1 1 2 8 2 a 1 2 1 2 5 1 c 1 2 2 3 1 4 1 "
    "a 1 b 5 1 a 1 1 d 1 g d 1f j 1 d h 1 4 1 2 a 1 1 3 5 4 1 1 1 1 1 1 1 1 4 1 a 1 2 4 5 5 4 1 h 15 b 6 f 2 a7 "
    "2 c 1 2n 1 1y 1 p b 4 3 57 c 1 13 5c 2 a 1 9 1 1m 4 1 6 1 c 1 36 a 3a 2 b 1 1 1 1 6 1 3 1 6 1 a 2 f 1 2 1 4 "
    "1 1 1 4 3 1 1 b 5 19 3 9 1 e 1 e 1 ac 2 cv 3 j 2 1f 1 4 1 4q 1b 1 1b 1 3p 6 4 3 2 c 12 1 1 5 1 2 1k 7 1 f 1 "
    "n 9 7 1 7 1 7 1 7 1 7 1 7 1 7 1 7 1 w 1b 1 28 q 1 2h c 5y 1b 1 1 1 p 9 6 1 5 2 3 1 1 1 3 2e 2 2 2 3 2j 1 4 "
    "5 17 1 2m h r 1h g 47 1 1 1 1i 1b 1 2g 4o 52u 22 g6o g wd 1v 1a 2 7h 3 g a 2 k 1b 4 1 a 1 v 2 28 2 11 4p 2 "
    "5 1c b 1 3 1 4 1 n 5 o 1g c 2 1e i a a 6 i 6 3 1 1 2 1 a s 8 2 n d c t 3 4 1b e e 1 a 6 5 1 a a 5 1 15 e 9 "
    "3 1 8 2 2 a 6 r 3 1e 1 1 3 2 2 5 2 1 1 1 o 5 b 5 2 3 2 a 6 2 6 2 6 9 7 1 7 1 1k 8 37 8 1 2 2 a 6 8mc c n 4 "
    "1d 6is a6 2 2y 12 7 c 5 5 1 1 a 1 d 1 5 1 1 1 2 1 2 1 a 2q x a3 i 1s 2 1i 14 c 4 e 1 1 1 2 1 1 b g 3 2 o 3 "
    "1 1 1 1 1 1 q 5 1 3r 2 1 7 1 4 1 1 1 1 a 1 1 5 q 4 1 1 q b 1k 2 v 3 6 2 6 2 6 2 3 s 3 4 c 1 q 1 j 1 2 1 f 2 "
    "e y 3f 1x 1h 3s 1 3m t 3 1d f 1 v w d u 5 12 5 5 u 2 10 4 8 1 5 16 4e 2 a 6 10 4 10 4 14 8 1g 4c 8n 9 m a 8 "
    "48 6 2 1 1 18 1 2 3 1 2 n a n 9 v 1t j 1 2 a m a q 1y 1k 6 2 1s 1 3 1 2 5 4 4 1 3 1 t 2 3 4 1 w t 3 t z 8 1 "
    "s 2 p 1i a m a j d i 32 21 1j 1f d 1f d 10 4 8 a cm t a 1 8 m b 3z n 9 3 1h f v a f 4 19 b 2 1 f 1 2 p 7 a "
    "6 3 10 e 1 a 4 1 2 9 z 1 2 1 9 3 1c e 4 4 4 3 a 1 1 1 z i 1 p c 6 1 1t 7 1 1 1 4 1 f 1 a 7 1b c 5 a 6 4 1 8 "
    "2 2 2 m 1 7 1 2 1 5 1 2 1 7 2 2 2 3 2 1 6 1 5 5 2 2 7 3 5 3v 1h i 4 5 a 4 1 1 w 1c k 2 1 1 8 a 4m 1b 7 2 9 "
    "n 4 2 y 1c h 3 1 b a 12 17 d 1 7 a 1i r 2 f 4 a 2 3 1 5c 18 f 2t 1s a l 1 4g 8 2 13 7 2 7 1 1 1 1 r 1 a 14 "
    "7 1 4 8 1 8 1 b 1a g 3 1 y 1l 7b 9 1 11 8 1 8 1 f a o u 2 m 1 e 21 7 1 2 1 12 6 3 1 1 2 1 7 1 1 8 a 6 6 1 2 "
    "1 w 5 1 2 1 5 1 7 a 8m j 4 7d pm 2u 33 h 5g 24c tr 1 9 347 g7 6nt ft 7 v 1 a 2u u 2 5 b 1c 7 9 4 c a 9 l 5 "
    "j j4 1s 3k 23 4 1 1 1j 7 4 d 1s 2 1 1 cnw 1 7y 1d 3 h 4 23c 2z 5 d 3 9 7 a 3 2 1 4 43l 5 3 m 2 7 u 4 44 3 "
    "cb 2d 1 1z 1 2 2 1 2 2 2 4 1 c 1 1 1 7 1 1t 1 4 2 8 1 7 1 s 1 4 1 5 1 1 3 7 1 9g 2 p 1 p 1 v 1 p 1 v 1 p 1 "
    "v 1 p 1 v 1 p 1 8 2 1e e8 1j 4 1e 8 1 e 1 m 5 1 f 11s 7 1 h 2 7 1 2 1 5 5x 19 3 7 7 2 a 4 1 a9 18 4 a zq 5h "
    "b 7 15 1w 7 1 4 a x2 4 1 r 1 2 1 1 2 1 1 a 1 4 1 1 1 1 6 1 4 1 1 1 1 1 1 3 1 2 1 1 2 1 1 1 1 1 1 1 1 1 1 2 "
    "1 1 2 4 1 7 1 4 1 4 1 1 1 a 1 h 5 3 1 5 1 h 90 74 d 3 v 1 q 6 q 2 4 2 c 2 a 4 1 2 a i 1l q 1 f a 1 k 1 2 9 "
    "1 4 9 c2 5 8u 8 7e 1c 3k 38 c 2d 17 c 4 1k 8 a 6 14 8 u 2a c 1b 1 a 1 1br 2 wyf 15 379 b 66 2 4g2 e 5rl 2e7 "
    "f2 fher 1 u 2n 1 3k 6o "
)

# The class of each run.
CLASSES = (
    "abcadacaeafagheaiajaiakialkaiahaiaiaiaiaiailiaiaieiaihiaiaiaiaialiaiaiaiaiaiealalalalalamamihalaealalailnane"
    "ailiailalilaliniaialililailianiliaeaialaililililailaiaiaialililililanailaiaiaiaiaiaialilalalialaiailaniaiala"
    "laiaiaiaiaiaiaialalalalalaiaianlilalaiaiaiaiaiaialilalalaiailanailalaiaiaiaiaiaialilalalalaiailanaialiaiaiai"
    "aiaiaiaiaiaialalalaialanaliaiaiaiailalalalaiailanailaiaiaiaiaialilalalalaiailanaialaiaiaililalaliailailanaia"
    "laiaiaiaiaialalalalanalaopopaopanaoaoaoaoaoaopopoaoaoapanaoaialanalalalaliaialalilalalaoponaopopopopopopopnp"
    "oiaiaiaiaiaiaiaiaiaiaiaiaiaiaiaiaiaiaiaialaiaiaiaiaiaiaiaiaiailailailaiaialaopaoaopanalanaiaililiaiaialalano"
    "aoaoaoanoaoailaopapalnanaoalalilianalalilinilailanainiaiaiaialalilililiailaliaiaiaiaiaiaiaiaiaiaiaiaiaiaiaia"
    "iaiaialqlafafahaljakajaeakajalalaiaiaialrlaiaiaiaiaiakaiaiaiaiaisaiaiaiaiakakakakakakakakaisiakakakakakakaka"
    "kakakakakakakakakakakakakakakakakakakakakakakakaiaiaiailiaiaiaiaiaialiaiaiaiaiaiaiaiaialaiatatatauatatlkvatu"
    "ikawalvwvavaiaiaiavakakavavatataiaiaiainiailalaililaiaiaililililaialilanaliaiailnilailaialilainaoponoailaili"
    "lanaopopopopopopoaoilailaiaiaiaiaiaiailalanaiaiaiatataiaiamlmamamamamamamiaiaiaiaialxyeahealajajeafaehaiaial"
    "afaeafanheaiajaiavliaiaiaiaialaiaiaiaiaiaiaiaialaiaialaiaiailaiaiaiaiaianaiaiaiaiaiaiaiaiaiaiaiaiaiaiaiaiaia"
    "iaiaiaiailalaliaiaialalaiaiaiailaiaiaiaiaiaiaiailanaiaiailaialilanalilalalaianalilanailailaialilialaniaiaiai"
    "lalaiaiaiaiaiailanalaiaiaiaiaiaialilalalaialailalalailianaliailiaianailalailailaianailianaoapanoaoailainaiai"
    "ailaliailailililalaililaiaiaiailalianaialalaiaiailalalalilanaiaiailalalianailaiaiaiaialaiaiaianaialailaianai"
    "aiaiaialilaliaiaiavwawavaiaiaiaialalalalalalalaiaiaiaiaiaiaiaiaiaiaiaiaiaiaiaiaiaiaiaiaiaiaiaiaiaiaiaiaiaian"
    "alalalalalalalalalalalaialianaiailnaialailianaiaiaiaiaiaiaiaiaiaiaiaiaiaiaiaiaiaiaiaiaiaiaiaiaiaiaiaiaiaiaia"
    "iaiakakakiaiaksisiakakakzwkakakakakakAkakakakakakakakakakakakakatatatatatatalaBCala"
)
