package io.github.usherservice.client;

import java.util.List;

/**
 * Why a question is answered as it is.
 *
 * @param decision the answer
 * @param rules the six rules, in their order
 * @param userKnown whether the address has a record of a user
 * @param applicationKnown whether the application exists
 * @param permissionKnown whether the application defines the permission
 */
public record Explanation(
    Decision decision, List<RuleResult> rules, boolean userKnown, boolean applicationKnown, boolean permissionKnown) {}
