package io.github.usherservice.client;

/**
 * The result of one of the six rules.
 *
 * @param rule 1 to 6, in the order in which they count
 * @param applies whether its condition holds by itself
 * @param decides whether it decided; true of exactly one
 * @param level the level that it alone would give
 */
public record RuleResult(int rule, boolean applies, boolean decides, Level level) {}
