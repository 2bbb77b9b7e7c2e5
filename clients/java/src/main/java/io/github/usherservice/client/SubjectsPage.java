package io.github.usherservice.client;

import java.util.List;
import java.util.Optional;

/**
 * A page of the users who hold a permission.
 *
 * @param holders up to 1,000 users, in a stable order
 * @param next where the next page begins; empty on the last one
 * @param revision the revision of this page
 */
public record SubjectsPage(List<Holder> holders, Optional<String> next, String revision) {}
