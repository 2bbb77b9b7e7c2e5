package io.github.usherservice.client;

import io.grpc.Status;
import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.Spliterator;
import java.util.Spliterators;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Flow;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;

/** A subscriber whose messages a thread waits for, one at a time. */
final class ChangesReader implements Flow.Subscriber<Changes>, Iterator<Changes> {
  /** A message or an error; neither at the end. */
  private record Signal(Changes changes, RuntimeException error) {}

  private static final Signal END = new Signal(null, null);

  private final BlockingQueue<Signal> signals = new LinkedBlockingQueue<>();
  private Flow.Subscription subscription;
  private Signal next;

  static Stream<Changes> stream(Flow.Publisher<Changes> publisher) {
    ChangesReader reader = new ChangesReader();
    publisher.subscribe(reader);
    int traits = Spliterator.ORDERED | Spliterator.NONNULL;
    return StreamSupport.stream(Spliterators.spliteratorUnknownSize(reader, traits), false).onClose(reader::close);
  }

  @Override
  public void onSubscribe(Flow.Subscription given) {
    subscription = given;
  }

  @Override
  public void onNext(Changes changes) {
    signals.add(new Signal(changes, null));
  }

  @Override
  public void onError(Throwable error) {
    signals.add(new Signal(null, Failures.of(error)));
  }

  @Override
  public void onComplete() {
    signals.add(END);
  }

  @Override
  public boolean hasNext() {
    if (next == null) next = take();
    if (next.error() != null) throw next.error();
    return next != END;
  }

  @Override
  public Changes next() {
    if (!hasNext()) throw new NoSuchElementException();
    Changes changes = next.changes();
    next = null;
    return changes;
  }

  private Signal take() {
    subscription.request(1);
    try {
      return signals.take();
    } catch (InterruptedException interrupt) {
      subscription.cancel();
      Thread.currentThread().interrupt();
      return new Signal(null, Failures.of(Status.Code.CANCELLED, "The thread was interrupted.", interrupt));
    }
  }

  private void close() {
    subscription.cancel();
    signals.add(END);
  }
}
