package io.github.usherservice.client;

/**
 * The answer to a question.
 *
 * @param allowed whether the permission is held at the level of the question
 * @param level the level held, also where it is less than the level of the question
 * @param source the rule that decided
 * @param revision the revision that the answer is true of
 */
public record Decision(boolean allowed, Level level, Source source, String revision) {}
