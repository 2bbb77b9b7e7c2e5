/**
 * Asks Usher who may do what, over gRPC. Begin with {@link io.github.usherservice.client.Usher#builder}; for asynchronous programs
 * {@link io.github.usherservice.client.Usher#async} has the same questions.
 */
package io.github.usherservice.client;
