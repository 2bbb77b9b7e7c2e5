package io.github.usherservice.client;

import java.util.List;

/**
 * Every permission of an application.
 *
 * @param permissions by group, then code
 * @param revision the revision that the list is true of
 */
public record Effective(List<Held> permissions, String revision) {}
