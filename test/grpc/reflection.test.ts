import { create, createFileRegistry, fromBinary, toBinary, toJson } from '@bufbuild/protobuf';
import { reflect } from '@bufbuild/protobuf/reflect';
import { type FileDescriptorProto, FileDescriptorProtoSchema, FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { type Client, type ServiceDefinition, status } from '@grpc/grpc-js';
import { ReflectionService } from '@grpc/reflection';
import { afterEach, describe, expect, test } from '@jest/globals';
import { closeDoors, failureOf, framed, openClient, openDoor, openRaw, QUESTION, SERVICE } from './support.ts';

afterEach(closeDoors);

interface Reply {
  listServicesResponse?: { service: { name: string }[] };
  fileDescriptorResponse?: { fileDescriptorProto: number[][] };
  errorResponse?: { errorCode: number; errorMessage: string };
}

/** The method of both versions, as the package itself would serve it. */
const methods = new Map<string, ServiceDefinition[string]>();
new ReflectionService({}).addToServer({
  addService(service) {
    for (const method of Object.values(service as ServiceDefinition)) methods.set(method.path, method);
  },
});

/** One question to the reflection stream, as grpcurl and its kind put it. */
function ask(client: Client, version: string, question: object): Promise<Reply> {
  const method = methods.get(`/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`);
  if (!method) throw new Error(`no reflection ${version}`);
  return new Promise((resolve, reject) => {
    const stream = client.makeBidiStreamRequest(method.path, method.requestSerialize, method.responseDeserialize);
    stream.on('data', (reply: Reply) => {
      resolve(reply);
      stream.end();
    });
    stream.on('error', reject);
    stream.write(question);
  });
}

const read = (reply: Reply): FileDescriptorProto[] =>
  (reply.fileDescriptorResponse?.fileDescriptorProto ?? []).map((bytes) =>
    fromBinary(FileDescriptorProtoSchema, Uint8Array.from(bytes)),
  );

/** Every file that a client needs to know a symbol: what the server sends for it, then each import by name. */
async function filesFor(client: Client, version: string, symbol: string): Promise<FileDescriptorProto[]> {
  const files = new Map<string, FileDescriptorProto>();
  for (const file of read(await ask(client, version, { fileContainingSymbol: symbol }))) files.set(file.name, file);
  for (;;) {
    const missing = [...files.values()].flatMap((file) => file.dependency).find((name) => !files.has(name));
    if (missing === undefined) return [...files.values()];
    const [file] = read(await ask(client, version, { fileByFilename: missing }));
    if (!file) throw new Error(`the server does not have ${missing}`);
    files.set(file.name, file);
  }
}

describe.each(['v1', 'v1alpha'])('reflection %s', (version) => {
  test('reflection lists the services', async () => {
    const client = openClient((await openDoor({ reflection: true })).port);
    const { listServicesResponse } = await ask(client, version, { listServices: '*' });
    expect(listServicesResponse?.service.map(({ name }) => name).sort()).toEqual(['grpc.health.v1.Health', SERVICE]);
  });

  test('a client without the .proto can call the service through reflection', async () => {
    const client = openClient((await openDoor({ reflection: true })).port);
    const file = await filesFor(client, version, SERVICE);
    const registry = createFileRegistry(create(FileDescriptorSetSchema, { file: inOrder(file) }));
    const check = registry.getService(SERVICE)?.method.check;
    if (!check) throw new Error('no method Check');

    const request = reflect(check.input);
    for (const [name, value] of Object.entries(QUESTION)) {
      const field = check.input.fields.find((one) => one.name === name);
      if (!field) throw new Error(`no field ${name}`);
      request.set(field, value);
    }
    const answer = await new Promise<Buffer>((resolve, reject) => {
      client.makeUnaryRequest(
        `/${check.parent.typeName}/${check.name}`,
        (message: Uint8Array) => Buffer.from(message),
        (bytes: Buffer) => bytes,
        toBinary(check.input, request.message),
        (error, bytes) => (error ? reject(error) : resolve(bytes as Buffer)),
      );
    });
    expect(toJson(check.output, fromBinary(check.output, answer))).toEqual({
      allowed: true,
      accessLevel: 'ACCESS_LEVEL_EDIT',
      source: 'DECISION_SOURCE_ROLE',
      revision: '7',
    });
    const group = registry.getMessage('usher.permission.v1.EffectivePermission')?.field.groupName;
    expect(group?.proto.proto3Optional).toBe(true);
  });

  test('reflection knows health and the details of errors, with all that they import', async () => {
    const client = openClient((await openDoor({ reflection: true })).port);
    const own = {
      'grpc.health.v1.Health': 'grpc/health/v1/health.proto',
      'google.rpc.Status': 'google/rpc/status.proto',
      'google.rpc.ErrorInfo': 'google/rpc/error_details.proto',
      'google.rpc.BadRequest': 'google/rpc/error_details.proto',
      'google.rpc.RetryInfo': 'google/rpc/error_details.proto',
    };
    for (const [symbol, name] of Object.entries(own)) {
      const files = await filesFor(client, version, symbol);
      expect(files[0]?.name).toBe(name);
      const registry = createFileRegistry(create(FileDescriptorSetSchema, { file: inOrder(files) }));
      expect(registry.get(symbol)?.typeName).toBe(symbol);
    }
  });

  test('reflection reports unknown symbols', async () => {
    const client = openClient((await openDoor({ reflection: true })).port);
    for (const question of [{ fileContainingSymbol: 'no.Such' }, { fileByFilename: 'no.proto' }]) {
      expect((await ask(client, version, question)).errorResponse?.errorCode).toBe(status.NOT_FOUND);
    }
  });
});

test('reflection is off without the option', async () => {
  const client = openClient((await openDoor({ reflection: false })).port);
  for (const version of ['v1', 'v1alpha']) {
    const error = await failureOf(ask(client, version, { listServices: '*' }));
    expect(error.code).toBe(status.UNIMPLEMENTED);
  }
});

test('malformed reflection questions and prototype names are harmless', async () => {
  const door = await openDoor({ reflection: true });
  const client = openClient(door.port);
  for (const name of ['constructor', '__proto__', 'toString']) {
    await ask(client, 'v1', { fileContainingSymbol: name });
    await ask(client, 'v1', { fileByFilename: name });
    await ask(client, 'v1', { fileContainingExtension: { containingType: name, extensionNumber: 1 } });
    await ask(client, 'v1', { allExtensionNumbersOfType: name });
  }
  const raw = openRaw(door.port);
  const path = '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo';
  for (const bytes of [[0xff], [0x0a, 5, 1], [0x1a, 3, 0xed, 0xa0, 0x80], []]) {
    await raw.request(path, framed(Buffer.from(bytes)));
  }
  expect((await ask(client, 'v1', { listServices: '' })).listServicesResponse?.service).toHaveLength(2);
});

test('an open reflection stream does not delay a drain', async () => {
  const door = await openDoor({ reflection: true, times: { drainMs: 60_000 } });
  const client = openClient(door.port);
  const method = methods.get('/grpc.reflection.v1.ServerReflection/ServerReflectionInfo') as ServiceDefinition[string];
  const stream = client.makeBidiStreamRequest(method.path, method.requestSerialize, method.responseDeserialize);
  await new Promise((resolve) => {
    stream.on('data', resolve);
    stream.write({ listServices: '*' });
  });
  const ended = new Promise((resolve) => stream.on('end', resolve));
  await door.server.drain();
  await ended;
});

/** Imports before importers, as a set of descriptors has to stand. */
function inOrder(files: FileDescriptorProto[]): FileDescriptorProto[] {
  const ordered = new Map<string, FileDescriptorProto>();
  const visit = (file: FileDescriptorProto | undefined) => {
    if (!file || ordered.has(file.name)) return;
    for (const name of file.dependency) visit(files.find((one) => one.name === name));
    ordered.set(file.name, file);
  };
  files.forEach(visit);
  return [...ordered.values()];
}
