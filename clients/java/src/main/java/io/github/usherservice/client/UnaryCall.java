package io.github.usherservice.client;

import io.grpc.ClientCall;
import io.grpc.Status;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.StreamObserver;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.function.Function;

/** A call of gRPC as a future. */
final class UnaryCall {
  private UnaryCall() {}

  static <Q, A, T> CompletableFuture<T> begin(
      ClientCall<Q, A> call, Q request, Function<A, T> read, Beginning beginning) {
    CompletableFuture<T> future = new CompletableFuture<>();
    ClientCalls.asyncUnaryCall(
        call,
        request,
        new StreamObserver<A>() {
          @Override
          public void onNext(A answer) {
            beginning.answered();
            try {
              future.complete(read.apply(answer));
            } catch (RuntimeException error) {
              future.completeExceptionally(Failures.of(error));
            }
          }

          @Override
          public void onError(Throwable error) {
            future.completeExceptionally(beginning.failure(error));
          }

          @Override
          public void onCompleted() {
            // Without effect after an answer.
            future.completeExceptionally(Failures.of(Status.Code.INTERNAL, "The service sent no answer.", null));
          }
        });
    // A future that is completed from outside, by `cancel` or `orTimeout`, ends the call.
    future.whenComplete((value, error) -> {
      if (error != null) call.cancel("The caller does not wait any longer.", null);
    });
    return future;
  }

  static <T> T await(CompletableFuture<T> future) {
    try {
      return future.get();
    } catch (InterruptedException interrupt) {
      future.cancel(true);
      Thread.currentThread().interrupt();
      throw Failures.of(Status.Code.CANCELLED, "The thread was interrupted.", interrupt);
    } catch (ExecutionException failure) {
      // The trace of the thread that waits says more than that of gRPC's, which the cause keeps.
      if (failure.getCause() instanceof UsherException error) throw (UsherException) error.fillInStackTrace();
      throw Failures.of(failure.getCause());
    }
  }
}
