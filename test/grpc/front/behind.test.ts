import { setImmediate as turn } from 'node:timers/promises';
import { Server, ServerCredentials } from '@grpc/grpc-js';
import { expect, test } from '@jest/globals';
import { Behind, type BehindEvents } from '#http2-front/behind';
import { Flag, Frame, INITIAL_WINDOW } from '#http2-front/frames';
import { encodeHeaders } from '#http2-front/hpack';
import { at } from './support.ts';

const PATH = '/test.Service/Echo';
const EVENTS: BehindEvents = {
  onHeaders: () => undefined,
  onData: () => undefined,
  onReset: () => undefined,
  onWindowUpdate: () => undefined,
  onInitialWindow: () => undefined,
  onGoaway: () => undefined,
  onClose: () => undefined,
  isFull: () => false,
};

function echoing(): Server {
  const server = new Server();
  const same = (bytes: Buffer): Buffer => bytes;
  const [requestSerialize, requestDeserialize, responseSerialize, responseDeserialize] = [same, same, same, same];
  server.addService(
    {
      Echo: {
        path: PATH,
        requestStream: false,
        responseStream: false,
        requestSerialize,
        requestDeserialize,
        responseSerialize,
        responseDeserialize,
      },
    },
    { Echo: (call: { request: Buffer }, done: (error: null, answer: Buffer) => void) => done(null, call.request) },
  );
  return server;
}

const block = (() => {
  const fields = at(PATH);
  return encodeHeaders(
    fields.map(([name]) => name),
    fields.map(([, value]) => value),
  );
})();

function call(behind: Behind): void {
  const id = behind.open();
  behind.writeFrame(Frame.HEADERS, Flag.END_HEADERS, id, block, 0, block.length);
  behind.writeFrame(Frame.DATA, Flag.END_STREAM, id, Buffer.alloc(5), 0, 5);
}

test.each([false, true])(
  'a client that leaves in any turn of its calls throws nothing in node:http2 (more of them: %s)',
  async (again) => {
    const server = echoing();
    const injector = server.createConnectionInjector(ServerCredentials.createInsecure());
    const thrown: unknown[] = [];
    const note = (error: unknown): void => {
      thrown.push(error);
    };
    process.on('uncaughtException', note);
    try {
      let answered = 0;
      for (const turns of [0, 0, 1, 1, 2, 3, 4, 6]) {
        for (let calls = 0; calls < 6; calls++) {
          const events = { ...EVENTS, onData: () => answered++ };
          const behind = new Behind((socket) => injector.injectConnection(socket), {}, INITIAL_WINDOW, events);
          for (let i = 0; i < calls; i++) call(behind);
          behind.flush();
          for (let i = 0; i < turns; i++) await turn();
          if (again) for (let i = 0; i < calls; i++) call(behind);
          behind.flush();
          behind.end();
          for (let i = 0; i < 8; i++) await turn();
        }
      }
      // Some were answered before their client left, or this would prove nothing.
      expect(answered).toBeGreaterThan(10);
    } finally {
      process.off('uncaughtException', note);
      server.forceShutdown();
    }
    expect(thrown).toEqual([]);
  },
);
