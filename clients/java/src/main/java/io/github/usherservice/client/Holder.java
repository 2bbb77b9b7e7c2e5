package io.github.usherservice.client;

/**
 * A user who holds a permission.
 *
 * @param email the address
 * @param level the level held
 * @param source the rule that decided
 */
public record Holder(String email, Level level, Source source) {}
