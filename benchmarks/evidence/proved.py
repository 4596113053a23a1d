"""Claims of the papers that are proved, or refuted by an instance: each with the test that holds the verdict."""

from __future__ import annotations

from dataclasses import dataclass

HOLDS, CORRECTED, FAILS = "holds", "holds as corrected", "does not hold"


@dataclass(frozen=True)
class Proved:
    """A claim that a test decides.

    Attributes
    ----------
    sentence
        The key of what print says, in the list of sentences.
    says
        What is tested, a sentence.
    verdict
        Whether it holds.
    test
        The test, in the form of pytest, below `tests/`.
    ours, printed_figure
        What is right, and what is printed, where that is a figure.
    is_weaker
        Whether less is tested than print says: such a line stands apart, and beside one for all that print says.
    """

    sentence: str
    says: str
    verdict: str
    test: str
    ours: str = ""
    printed_figure: str = ""
    is_weaker: bool = False


PROVED = (
    Proved(
        "T algorithm 2.1",
        "LPBoost ends with a soft margin within epsilon of what the oracle guarantees.",
        HOLDS,
        "boosting/test_guarantees_margins.py::test_lpboost_bounds_are_monotone_and_close",
    ),
    Proved(
        "T 5.4 one round",
        "With nu = N the uniform distribution is the only one within the caps, and the best oracle's first edge is the "
        "value.",
        HOLDS,
        "boosting/test_guarantees_margins.py::test_lpboost_stops_after_one_round_where_nu_is_the_number_of_examples",
    ),
    Proved(
        "T lemma 2.4",
        "A strict pivot is the value, and its row and column are the only solution.",
        HOLDS,
        "instances/test_strict_pivots.py::test_a_strict_pivot_is_the_value_and_its_row_and_column_the_only_solution",
    ),
    Proved(
        "T figure 2.9",
        "With the example and the hypothesis the hard margin misclassifies every example.",
        HOLDS,
        "boosting/test_instances_boosted.py::test_a_bad_example_and_a_bad_hypothesis_spoil_the_hard_margin",
    ),
    Proved(
        "T figure 2.6",
        "LPBoost must stop at a gap of half of epsilon.",
        FAILS,
        "errata/test_errata_dissertation.py::test_T5_lpboost_may_stop_at_epsilon",
        "epsilon suffices",
        "epsilon / 2",
    ),
    Proved(
        "T figure 2.9 rows",
        "The optimum is the same in the first five rounds.",
        FAILS,
        "errata/test_errata_dissertation.py::test_T6_values_in_the_bottom_rows_of_figure_2_9",
        "it rises by twice delta a round",
        "-3 delta",
    ),
    Proved(
        "T 2.6 Long",
        "No cap and no eta helps against the points of Long and Servedio.",
        FAILS,
        "errata/test_errata_dissertation.py::test_T50_caps_help_against_symmetric_noise_but_not_a_single_flip",
        "true of one flipped point, false of symmetric noise",
    ),
    Proved(
        "T lemma 3.1",
        "The weights of the dual of SoftBoost sum to 1.",
        FAILS,
        "errata/test_errata_dissertation.py::test_T8_the_constraint_costs_half_a_nat",
        "the constraint costs over 0.5 on an instance",
    ),
    Proved(
        "T algorithm 3.1 stop",
        "A zero in d means that gamma is the best soft margin of the hypotheses so far; the converse is false.",
        HOLDS,
        "formulations/test_softboost.py::test_a_zero_in_d_means_that_gamma_is_the_best_soft_margin",
        "in exact arithmetic: a weight that underflows proves nothing",
    ),
    Proved(
        "T theorem 3.2",
        "SoftBoost ends after 2 ln(N / nu) / epsilon^2 rounds.",
        CORRECTED,
        "boosting/test_guarantees.py::test_theorem_3_2_softboost",
        "rounded up; one round where nu = N",
    ),
    Proved(
        "T lemma 3.7",
        "Each round of ERLPBoost raises the optimum by the squared difference over 8 eta.",
        CORRECTED,
        "boosting/test_guarantees.py::test_lemmas_3_7_3_8_3_14_3_19_and_theorems_3_10_3_21",
        "from optimum to optimum, not to the value at the old distribution",
    ),
    Proved(
        "T theorem 3.10",
        "ERLPBoost has a soft margin within epsilon after 32 ln(N / nu) / epsilon^2 rounds.",
        HOLDS,
        "boosting/test_guarantees.py::test_lemmas_3_7_3_8_3_14_3_19_and_theorems_3_10_3_21",
    ),
    Proved(
        "T lemma 3.19",
        "Each round of Binary ERLPBoost raises the optimum by the squared difference over 8 eta.",
        HOLDS,
        "boosting/test_guarantees.py::test_lemmas_3_7_3_8_3_14_3_19_and_theorems_3_10_3_21",
    ),
    Proved(
        "T theorem 3.21",
        "Binary ERLPBoost has a soft margin within epsilon after 16 eta / epsilon rounds.",
        HOLDS,
        "boosting/test_guarantees.py::test_lemmas_3_7_3_8_3_14_3_19_and_theorems_3_10_3_21",
    ),
    Proved(
        "T theorem 3.12",
        "The bound is kept by distributions that are accurate to a quarter of epsilon.",
        FAILS,
        "errata/test_errata_dissertation_erlpboost.py::test_T21_approximate_distributions_can_stall_beyond_the_printed_bound",
        "8171 legal rounds without an end",
        "8120",
    ),
    Proved(
        "T theorem 3.12",
        "Every update that gains as much as a corrective step keeps the bound, the oracle being asked with d(w).",
        HOLDS,
        "boosting/test_guarantees_corrective.py::test_theorem_a_bounds_the_rounds_of_every_update",
        is_weaker=True,
    ),
    Proved(
        "T theorem 3.23",
        "Binary ERLPBoost has the eta and the bound of ERLPBoost.",
        FAILS,
        "errata/test_errata_dissertation_erlpboost.py::test_T27_the_binary_entropy_exceeds_the_relative_entropy",
        "its entropy reaches 3.25 at N = 30, nu = 3",
        "2.30",
    ),
    Proved(
        "T 3.3.1",
        "An entropy term of at most epsilon suffices.",
        FAILS,
        "errata/test_errata_dissertation_erlpboost.py::test_T23_the_entropy_must_be_half_of_epsilon",
        "a legal run ends 1.3 epsilon too low; half of epsilon suffices",
        "epsilon",
    ),
    Proved(
        "T 3.2.3",
        "As eta increases the curvature of the dual decreases.",
        FAILS,
        "errata/test_errata_dissertation_erlpboost.py::test_T49_curvature_concentrates_as_eta_grows",
        "it grows with eta near kinks",
    ),
    Proved(
        "T KKT 3.3.4",
        "Caps are active in the binary program.",
        FAILS,
        "errata/test_errata_dissertation_erlpboost.py::test_T25_the_cap_of_the_binary_program_is_never_active",
        "never",
    ),
    Proved(
        "T appendix A",
        "The weights of hypotheses are recovered from the active set of d.",
        CORRECTED,
        "errata/test_errata_dissertation_erlpboost.py::test_T47_weights_from_the_active_set_of_an_exact_d_only",
        "of an exact d",
    ),
    Proved(
        "T algorithm 4.1b",
        "The step divides by the norm of the difference.",
        FAILS,
        "errata/test_errata_dissertation_corrective.py::test_T32_the_step_divides_by_the_squared_norm",
        "by its square; else progress vanishes",
    ),
    Proved(
        "T algorithm 4.1d",
        "The run may stop by the edge of the mixture.",
        FAILS,
        "errata/test_errata_dissertation_corrective.py::test_T33_the_criterion_takes_the_largest_edge_not_the_mixture",
        "stops at t = 2 with an error of 1.2",
        "epsilon = 0.1",
    ),
    Proved(
        "T 4.2 rounds",
        "Corrective ERLPBoost needs at least ln(N / nu) / epsilon^2 rounds.",
        FAILS,
        "errata/test_errata_dissertation_corrective.py::test_T39_the_bound_is_from_above",
        "at most: theorem A",
    ),
    Proved(
        "T 4.3 beta",
        "The binary bound holds with the earlier beta.",
        FAILS,
        "errata/test_errata_dissertation_corrective.py::test_T40_the_binary_bound_needs_beta_optimal_again",
        "fails by 2; holds with beta optimal again",
    ),
    Proved(
        "T table 5.12 star",
        "Entries without a star belong to epsilon = 0.001.",
        FAILS,
        "errata/test_errata_dissertation_tables.py::test_T51_etas_of_table_5_12_belong_to_another_epsilon",
        "ten belong to 1e-5",
    ),
    Proved(
        "T 5.6 SVM columns",
        "SVM hypotheses are better than the other classes on every set but german.",
        FAILS,
        "errata/test_errata_dissertation_tables.py::test_T55_svm_hypotheses_are_not_the_best_on_three_sets",
        "nor on a9a and diabetes, by the printed tables",
    ),
    Proved(
        "T 5.6 binary slower",
        "Corrective Binary ERLPBoost is slower than Corrective ERLPBoost on all sets.",
        FAILS,
        "errata/test_errata_dissertation_tables.py::test_T56_the_binary_corrective_algorithm_is_not_always_the_slower_one",
        "equal on four, by the printed table",
    ),
    Proved(
        "T 5.6 SVM seconds",
        "SVMs are dramatically faster than any boosting algorithm.",
        FAILS,
        "errata/test_errata_dissertation_tables.py::test_T57_boosting_is_faster_than_the_svm_on_diabetes",
        "diabetes: boosting 0.10 s, by the printed table",
        "1.11 s",
    ),
    Proved(
        "N theorem 2",
        "SoftBoost ends after 2 ln(N / nu) / delta^2 rounds.",
        CORRECTED,
        "boosting/test_guarantees.py::test_theorem_3_2_softboost",
        "rounded up; one round where nu = N",
    ),
    Proved(
        "N column",
        "After the first column of an instance of ours no single column raises the program, and two together do.",
        HOLDS,
        "boosting/test_guarantees_margins.py::test_the_column_that_raises_the_program_most_may_be_none",
    ),
    Proved(
        "N introduction",
        "AdaBoost* takes 2 ln(N / delta^2) rounds.",
        FAILS,
        "errata/test_errata_softboost_paper.py::test_N1_rounds_of_adaboost_star_grow_with_the_squared_accuracy",
        "2397 at N = 20, delta = 0.05",
        "18",
    ),
    Proved(
        "N soft margin",
        "Nu examples are at the soft margin, the others above.",
        CORRECTED,
        "errata/test_errata_softboost_paper.py::test_N2_examples_below_and_at_the_soft_margin",
        "at most nu below, at least nu at or below",
    ),
    Proved(
        "R lemma 2",
        "Every step is at least the logarithm that belongs to an error of phi - Delta, for phi below and above 1/2.",
        HOLDS,
        "boosting/test_guarantees_margins.py::test_lemma_2_of_ata_for_any_phi",
    ),
    Proved(
        "R theorem 3",
        "The share of small margins of ATA is bounded by a product over the rounds.",
        HOLDS,
        "boosting/test_guarantees_margins.py::test_theorem_3_and_corollary_4_of_ata",
    ),
    Proved(
        "R corollary 4",
        "The margin of ATA is bounded below by its errors.",
        HOLDS,
        "boosting/test_guarantees_margins.py::test_theorem_3_and_corollary_4_of_ata",
    ),
    Proved(
        "R after (6)",
        "The margin of ATA comes to at least 1 - 2 phi, with errors below phi.",
        HOLDS,
        "boosting/test_guarantees_margins.py::test_ata_comes_to_the_margin_of_its_errors_and_of_phi",
    ),
    Proved(
        "R 4.2 nu",
        "LP_REG has the nu-property.",
        CORRECTED,
        "boosting/test_guarantees_margins.py::test_the_nu_property_of_the_linear_programs",
        "with the penalty shared by the examples",
    ),
    Proved(
        "R after (19)",
        "The line search of AdaBoost_REG has one minimum.",
        FAILS,
        "errata/test_errata_soft_margins.py::test_R6_the_line_search_may_have_no_minimum_or_two",
        "none for p = 1, two for p = 2",
    ),
    Proved(
        "R 5.2 REG RBF",
        "AdaBoost_REG is better than the single network in ten cases.",
        FAILS,
        "errata/test_errata_soft_margins_text.py::test_R23_the_single_network_loses_in_eleven_cases",
        "eleven, by the printed table",
        "ten",
    ),
    Proved(
        "R 5.2 diabetes",
        "AdaBoost_REG is significantly better than the SVM on diabetes.",
        FAILS,
        "errata/test_errata_soft_margins_text.py::test_R24_diabetes_is_won_by_the_svm",
        "the SVM is, by the printed table",
    ),
    Proved(
        "D theorem",
        "AdaBoost reaches at least half of the largest margin.",
        HOLDS,
        "boosting/test_guarantees_margins.py::test_adaboost_reaches_half_of_the_best_margin",
    ),
    Proved(
        "D smooth",
        "Steps of coordinate ascent raise the smooth margin once it is positive.",
        HOLDS,
        "boosting/test_guarantees_margins.py::test_the_smooth_margin_rises_once_it_is_positive",
    ),
    Proved(
        "D AdaBoost*",
        "AdaBoost* needs 2 log2(m) / nu^2 rounds.",
        CORRECTED,
        "errata/test_errata_dynamics.py::test_D2_adaboost_star_needs_fewer_rounds_with_the_natural_logarithm",
        "2 ln(m) / nu^2 suffice",
    ),
    Proved(
        "D map",
        "The map of weights needs no normalization.",
        FAILS,
        "errata/test_errata_dynamics.py::test_D1_the_map_must_be_renormalized",
        "errors grow to over 1e-6 in 60 steps",
    ),
    Proved(
        "D orbits",
        "The map of AdaBoost has no cycle of length 1 or 2 with edges between 0 and 1.",
        HOLDS,
        "boosting/test_reduced_map.py::test_no_matrix_has_a_cycle_shorter_than_three",
    ),
    Proved(
        "D figure 2b twice",
        "The map iterated twice has the cycle of three as fixed points.",
        FAILS,
        "errata/test_errata_dynamics.py::test_D3_a_cycle_of_three_takes_three_iterations",
        "three times",
        "twice",
    ),
    Proved(
        "S theorem 9",
        "The margin is within epsilon after so many steps.",
        CORRECTED,
        "boosting/test_guarantees_corrective.py::test_lemma_11_and_theorem_9_of_shalev_shwartz_and_singer",
        "T + 2 = 32 ln(m) / epsilon^2",
    ),
    Proved(
        "S examples",
        "The conjugate is that of the positive part for an arbitrary norm.",
        FAILS,
        "errata/test_errata_weak_learnability.py::test_S1_the_positive_part_needs_an_absolute_norm",
        "for absolute norms; short by 0.36 else",
    ),
    Proved(
        "S lemma 16",
        "The projection onto the capped simplex is right for any reference.",
        FAILS,
        "errata/test_errata_weak_learnability.py::test_S4_the_projection_drops_examples_without_weight",
        "zeros must go first",
    ),
    Proved(
        "S 4.1 tenth",
        "At most k examples have a margin below the soft margin's.",
        HOLDS,
        "boosting/test_guarantees_margins.py::test_the_nu_property_of_the_linear_programs",
    ),
    Proved(
        "S corollary 5",
        "The equivalence holds for an integer number of examples.",
        CORRECTED,
        "errata/test_errata_weak_learnability.py::test_S5_the_number_of_examples_may_be_any_real_number",
        "for every real one",
    ),
)
