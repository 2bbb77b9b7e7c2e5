package io.github.usherservice.client;

import java.util.Optional;

/**
 * A permission that an application defines, and what a user holds of it.
 *
 * @param permission the permission's code
 * @param allowed whether it is held
 * @param level the level held
 * @param source the rule that decided
 * @param tiered whether it has the levels {@link Level#VIEW} and {@link Level#EDIT}
 * @param global whether overrides for records are ignored for it
 * @param group the group that user interfaces list it under
 */
public record Held(
    String permission, boolean allowed, Level level, Source source, boolean tiered, boolean global, Optional<String> group) {}
