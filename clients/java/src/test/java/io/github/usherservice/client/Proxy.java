package io.github.usherservice.client;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Collection;
import java.util.concurrent.ConcurrentLinkedQueue;

/** A path to a service that can be cut, and that can swallow what is sent. */
final class Proxy implements AutoCloseable {
  private final int target;
  private final int port;
  private final Collection<Link> links = new ConcurrentLinkedQueue<>();
  private volatile boolean isHole;
  private volatile ServerSocket server;

  /** Two sockets. Whatever was swallowed once is swallowed for ever, as by a firewall that has forgotten a connection. */
  private final class Link {
    private final Socket caller;
    private final Socket called;
    private volatile boolean isDead = isHole;

    Link(Socket caller) throws IOException {
      this.caller = caller;
      this.called = new Socket(InetAddress.getLoopbackAddress(), target);
      begin(() -> copy(caller, called));
      begin(() -> copy(called, caller));
    }

    private void copy(Socket from, Socket to) {
      byte[] buffer = new byte[16_384];
      try (InputStream in = from.getInputStream();
          OutputStream out = to.getOutputStream()) {
        for (int read = in.read(buffer); read >= 0; read = in.read(buffer)) if (!isDead) out.write(buffer, 0, read);
      } catch (IOException ended) {
        end();
      }
    }

    void end() {
      quietly(caller);
      quietly(called);
    }
  }

  Proxy(int target) throws IOException {
    this.target = target;
    this.server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    this.port = server.getLocalPort();
    begin(this::accept);
  }

  String address() {
    return "127.0.0.1:" + port;
  }

  /** From now on everything is swallowed. */
  void swallow() {
    isHole = true;
    links.forEach(link -> link.isDead = true);
  }

  /** New connections work again. */
  void lift() {
    isHole = false;
  }

  /** Ends all connections, and refuses new ones. */
  void cut() {
    quietly(server);
    links.forEach(Link::end);
    links.clear();
  }

  void mend() throws IOException {
    server = new ServerSocket(port, 50, InetAddress.getLoopbackAddress());
    begin(this::accept);
  }

  @Override
  public void close() {
    cut();
  }

  private void accept() {
    ServerSocket open = server;
    try {
      while (true) links.add(new Link(open.accept()));
    } catch (IOException closed) {
      quietly(open);
    }
  }

  private static void begin(Runnable work) {
    Thread thread = new Thread(work);
    thread.setDaemon(true);
    thread.start();
  }

  private static void quietly(AutoCloseable closed) {
    try {
      closed.close();
    } catch (Exception ignored) {
      // It is closed already.
    }
  }
}
