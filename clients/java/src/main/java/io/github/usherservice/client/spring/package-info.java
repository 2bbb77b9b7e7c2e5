/**
 * An adapter for Spring Security 7. {@link io.github.usherservice.client.spring.UsherAuthorizationManager} guards requests,
 * {@link io.github.usherservice.client.spring.UsherPermissionEvaluator} answers {@code hasPermission(…)} in {@code @PreAuthorize}.
 * Anything that is not a yes is a denial, trouble included.
 */
package io.github.usherservice.client.spring;
