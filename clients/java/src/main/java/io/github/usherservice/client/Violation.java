package io.github.usherservice.client;

/**
 * A mistake in a field of a question.
 *
 * @param field the field's path
 * @param message the mistake, for people
 */
public record Violation(String field, String message) {}
