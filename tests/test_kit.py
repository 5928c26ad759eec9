"""What the studies share: the rule of significance, worked out by hand, and what a page refuses."""

from pathlib import Path

import pytest

from samples.kit import page
from samples.kit.page import Made, PageError, as_csv, render, table, unique
from samples.kit.significance import (
    Range,
    Verdict,
    above,
    agrees,
    at_least_by_chance,
    by_chance,
    correlated,
    judge,
    judge_cases,
    judge_size,
    judge_sizes,
    more,
    ranks,
    shared,
    spearman,
    spearman_limit,
)


@pytest.mark.parametrize(
    ("one", "other", "n", "wanted"),
    [
        (Range(3, 4, 5), Range(1, 2, 2.9), 20, True),
        (Range(3, 4, 5), Range(1, 2, 3), 20, None),
        (Range(1, 2, 2.9), Range(3, 4, 5), 20, False),
        (Range(3, 4, 5), Range(1, 2, 2.9), 3, None),  # three copies tell nothing
    ],
)
def test_medians_differ_where_quartiles_do_not_overlap(
    one: Range, other: Range, n: int, *, wanted: bool | None
) -> None:
    assert more(one, other, n) is wanted


def test_a_ratio_spans_what_the_quartiles_allow() -> None:
    ratio = Range(8, 10, 12).over(Range(4, 5, 6))
    assert ratio == (8 / 6, 10 / 5, 12 / 4)
    assert str(ratio) == "2.00 (1.33 to 3.00)"
    assert (above(ratio), above(ratio, 2.5), above(ratio, 3.5)) == (True, None, False)


def test_near_is_a_tenth_of_what_is_claimed() -> None:
    assert agrees(2.18, 2)
    assert not agrees(2.21, 2)


@pytest.mark.parametrize(
    ("like", "unlike", "untold", "verdict"),
    [
        (54, 19, 11, Verdict.AGREES),
        (5, 0, 1, Verdict.AGREES),
        (4, 3, 0, Verdict.UNDECIDED),
        (0, 6, 0, Verdict.DIFFERS),
        (1, 0, 7, Verdict.UNDECIDED),
    ],
)
def test_a_claim_on_several_cases_is_judged_by_how_many_agree(
    like: int, unlike: int, untold: int, verdict: Verdict
) -> None:
    assert judge_cases([True] * like + [False] * unlike + [None] * untold) is verdict


def test_what_is_within_the_spread_is_undecided() -> None:
    assert judge(answer=None) is Verdict.UNDECIDED
    assert judge(answer=False) is Verdict.DIFFERS


@pytest.mark.parametrize(
    ("found", "claimed", "verdict"),
    [
        (Range(1.9, 2.18, 2.3), 2, Verdict.AGREES),
        (Range(1.4, 1.5, 1.6), 3.9, Verdict.DIRECTION),
        (Range(0.7, 0.8, 0.9), 1.2, Verdict.DIFFERS),
        (Range(0.5, 1.2, 1.8), 1.2, Verdict.UNDECIDED),
        (Range(0.9, 1.2, 1.4), 2, Verdict.DIFFERS),  # on no side of 1, and twofold is beyond it
    ],
)
def test_a_claimed_size_is_judged_by_side_and_size(
    found: Range, claimed: float, verdict: Verdict
) -> None:
    assert judge_size(found, claimed) is verdict


@pytest.mark.parametrize(
    ("found", "claimed", "verdict"),
    [
        ([Range(1.9, 2.1, 2.3), Range(1.8, 1.9, 2), Range(3, 4, 5)], 2, Verdict.AGREES),
        ([Range(1.1, 1.2, 1.3), Range(2.9, 3, 3.1), Range(0.8, 1.2, 1.4)], 2, Verdict.DIRECTION),
        ([Range(1.1, 1.2, 1.3), Range(0.8, 1.2, 1.4)], 2, Verdict.UNDECIDED),
        ([Range(0.5, 0.6, 0.7), Range(0.5, 0.6, 0.7)], 2, Verdict.DIFFERS),
    ],
)
def test_a_size_claimed_of_several_is_judged_by_most(
    found: list[Range], claimed: float, verdict: Verdict
) -> None:
    assert judge_sizes(found, claimed) is verdict


def test_ways_that_disagree_leave_a_claim_undecided() -> None:
    assert shared([Verdict.AGREES, Verdict.AGREES]) is Verdict.AGREES
    assert shared([Verdict.AGREES, Verdict.DIFFERS]) is Verdict.UNDECIDED


def test_rank_correlation_is_spearman_s() -> None:
    assert ranks([10, 30, 20, 30]) == [1, 3.5, 2, 3.5]
    assert spearman([1, 2, 3], [10, 20, 90]) == pytest.approx(1)
    # By 1 - 6·Σd²/(n·(n²-1)) with d = (0, 1, -1, 0): 1 - 12/60.
    assert spearman([1, 2, 3, 4], [1, 3, 2, 4]) == pytest.approx(0.8)
    assert spearman([1, 1], [1, 2]) == 0


def test_a_rank_correlation_counts_beyond_its_limit() -> None:
    # Zar's table: 0.886 for six values, 0.538 for 14, 0.415 for 23.
    assert (spearman_limit(6), spearman_limit(14), spearman_limit(23)) == (0.886, 0.538, 0.415)
    assert spearman_limit(30) == 0.362
    assert correlated(-0.66, 6) is None
    assert correlated(-0.82, 14) is False
    assert correlated(0.47, 23) is True
    with pytest.raises(ValueError, match="for 4 values"):
        correlated(1, 4)


@pytest.mark.parametrize(
    ("limit", "n_tried", "share"),
    # Zar's critical values for 23 pairs; of five at 5 %, chance gives one in 1 - 0.95**5.
    [(0.415, 1, 0.05), (0.532, 1, 0.01), (0.415, 5, 0.226), (-0.415, 1, 0.05)],
)
def test_chance_gives_the_strongest_of_several_more_often(
    limit: float, n_tried: int, share: float
) -> None:
    assert by_chance(limit, 23, n_tried) == pytest.approx(share, rel=0.1, abs=0.002)


def test_some_of_many_layers_are_better_by_chance() -> None:
    # Two throws of a coin show at least one head in three of four cases.
    assert at_least_by_chance(1, 2, 0.5) == pytest.approx(0.75)
    assert at_least_by_chance(0, 2, 0.5) == pytest.approx(1)


def test_two_values_of_one_key_are_refused() -> None:
    assert unique([("a", 1), ("b", 2)]) == {"a": 1, "b": 2}
    with pytest.raises(PageError, match="key 'a'"):
        unique([("a", 1), ("a", 1)])


ONE = '{{ claims([["it", "It is so", "Fig. 1", n|f(1)]]) }}\n'


def written(folder: Path, text: str, verdicts: dict[str, Verdict]) -> str:
    (folder / "page.md.j2").write_text(text)
    (folder / "details.md.j2").write_text("{{ n|f(2) }}")
    return render(folder, {"n": 1234.56}, verdicts)[0]


def test_a_claim_is_a_row_that_ends_with_its_verdict(tmp_path: Path) -> None:
    text = written(tmp_path, f"{{{{ counts() }}}}\n{ONE}", {"it": Verdict.AGREES})
    assert text.splitlines() == [
        "1 × *agrees here*",
        "| claim | section | here | verdict |",
        "| --- | --- | ---: | --- |",
        "| It is so | Fig. 1 | 1,234.6 | agrees here |",
    ]


def test_every_verdict_is_shown_once(tmp_path: Path) -> None:
    both = {"it": Verdict.AGREES, "other": Verdict.UNDECIDED}
    with pytest.raises(PageError, match="once each: other"):
        written(tmp_path, ONE, both)
    with pytest.raises(PageError, match="once each: it"):
        written(tmp_path, ONE + ONE, {"it": Verdict.AGREES})
    with pytest.raises(PageError, match="nobody judged 'it'"):
        written(tmp_path, ONE, {})


def test_untested_claims_stand_in_a_table_of_their_own(tmp_path: Path) -> None:
    why = '{{ untestable([["it", "It is so", "Fig. 1", "no device"]]) }}'
    text = written(tmp_path, why, {"it": Verdict.UNTESTABLE})
    assert text.splitlines()[2] == "| It is so | Fig. 1 | no device |"
    for wrong, verdict in ((why, Verdict.AGREES), (ONE, Verdict.UNTESTABLE)):
        with pytest.raises(PageError, match="in the wrong table"):
            written(tmp_path, wrong, {"it": verdict})


def test_a_long_table_is_a_file_beside_its_page(tmp_path: Path) -> None:
    rows = as_csv(["a", "b"], [["x, y", None]])
    Made("text", "more", {}, {"rows": rows}).write(tmp_path / "page.md")
    assert (tmp_path / "page.md").read_text() == "text"
    assert (tmp_path / "page/details.md").read_text() == "more"
    assert (tmp_path / "page/rows.csv").read_text() == 'a,b\n"x, y",\n'


def test_rows_that_nobody_reads_are_refused(tmp_path: Path) -> None:
    with pytest.raises(PageError, match="above 200"):
        written(tmp_path, f"| {'long ' * 50} |\n", {})


def test_numbers_stand_on_the_right() -> None:
    assert table(["a", "b"], [["x", "1,234.5"], [None, 2]]) == (
        "| a | b |\n| --- | ---: |\n| x | 1,234.5 |\n| - | 2 |"
    )
    assert page.listed(["a", "b", "c"]) == "a, b and c"
    assert page.spread([2.0, 1.0]) == "1.00 to 2.00"
    assert page.spread([1.0, 1.0]) == "1.00"
