package io.github.usherservice.client;

import java.util.List;

/**
 * The records that a user can reach.
 *
 * @param all whether it is every record of the type but those listed; otherwise it is only those
 * @param resourceIds the identifiers
 * @param revision the revision that the list is true of
 */
public record Reach(boolean all, List<String> resourceIds, String revision) {}
