"""The line of progress says how fast it goes and how long it takes."""

from treemech.many.rate import RateBar


def test_rate_and_time_left(capsys):
    bar = RateBar("study", 1000)
    start = bar.recent[0][0]
    bar.recent.append((start + 10.0, 400))
    assert bar.text(400) == "study [############..................] 400/1000, 40 runs/s, 15 s left"
    bar(1000)
    bar.close()
    assert "1000/1000" in capsys.readouterr().err
