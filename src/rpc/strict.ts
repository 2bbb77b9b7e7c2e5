/** Reads request messages strictly: a question must never be answered as a wider one (docs/reference/decisions.md#strict-questions). */

import {
  type DescField,
  type DescMessage,
  fromBinary,
  fromJson,
  type JsonValue,
  type MessageShape,
  ScalarType,
} from '@bufbuild/protobuf';
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';
import { UsherError, validationFailed } from '../base/errors.ts';
import { LIMITS } from '../base/grammar.ts';

const MAX_UNKNOWN_NAMED = 8;
/** Reading stops after this many: a megabyte of unknown fields would block the event loop. */
const MAX_UNKNOWN_READ = 4096;

/**
 * The message. Throws VALIDATION_FAILED for malformed bytes, for unknown fields, and for more items than allowed.
 *
 * @param most items that the lists of one message may hold together
 */
export function decodeStrictly<D extends DescMessage>(
  schema: D,
  bytes: Uint8Array,
  most: number = LIMITS.bulkPermissions,
): MessageShape<D> {
  try {
    // Before the generated reader, which takes a known field of a wrong wire type for one of the right type.
    checkWire(schema, bytes, '', most);
    return fromBinary<D>(schema, bytes);
  } catch (error) {
    if (error instanceof UsherError) throw error;
    const problem = `is not a ${schema.name}: cut off, malformed, or text that is not UTF-8`;
    throw new UsherError('VALIDATION_FAILED', `The request ${problem}.`, {
      details: { issues: [{ path: '', message: problem }] },
      cause: error,
    });
  }
}

/**
 * Refuses fields that the schema does not know, or knows with another wire type: generated code keeps the first aside and
 * takes the second for one of the right type. Throws an error other than UsherError if the bytes are malformed.
 *
 * @param path where the message stands in the request: `checks[3].`; '' for the request itself
 */
function checkWire(schema: DescMessage, bytes: Uint8Array, path: string, most: number): void {
  const reader = new BinaryReader(bytes);
  const unknown = new Set<number>();
  let listed = 0;
  let strange = 0;
  while (reader.pos < reader.len) {
    const [number, wireType] = reader.tag();
    const field = schema.fields.find((candidate) => candidate.number === number);
    if (field === undefined || !wireTypesOf(field).includes(wireType)) {
      if (unknown.size < MAX_UNKNOWN_NAMED) unknown.add(number);
      if (++strange > MAX_UNKNOWN_READ) break;
    } else if (field.fieldKind === 'list' && ++listed > most) {
      throw validationFailed([{ path: path + field.name, message: `must hold at most ${most} items` }]);
    } else if (field.message) {
      const item = field.fieldKind === 'list' ? `[${listed - 1}]` : '';
      checkWire(field.message, reader.bytes(), `${path}${field.name}${item}.`, most);
      continue;
    }
    reader.skip(wireType, number);
  }
  if (unknown.size === 0) return;
  throw validationFailed(
    [...unknown].map((number) => ({
      path: `${path}${number}`,
      message: `field number ${number} of ${schema.name} is unknown, or has the wrong wire type`,
    })),
  );
}

/** Which item of a list makes a JSON request unreadable: `checks[3]`; '' for the request itself or an unknown place. */
export function unreadableItem(schema: DescMessage, request: JsonValue): string {
  if (request === null || typeof request !== 'object' || Array.isArray(request)) return '';
  for (const { message, fieldKind, jsonName, name } of schema.fields) {
    const items = request[jsonName] ?? request[name];
    if (message === undefined || fieldKind !== 'list' || !Array.isArray(items)) continue;
    const index = items.findIndex((item) => !isReadable(message, item));
    if (index >= 0) return `${name}[${index}]`;
  }
  return '';
}

function isReadable(schema: DescMessage, item: JsonValue): boolean {
  try {
    fromJson(schema, item);
    return true;
  } catch {
    return false;
  }
}

const VARINTS: readonly ScalarType[] = [
  ScalarType.BOOL,
  ScalarType.INT32,
  ScalarType.UINT32,
  ScalarType.INT64,
  ScalarType.UINT64,
];

function wireTypesOf(field: DescField): readonly WireType[] {
  if (field.message || field.scalar === ScalarType.STRING || field.scalar === ScalarType.BYTES) {
    return [WireType.LengthDelimited];
  }
  if (field.enum || (field.scalar !== undefined && VARINTS.includes(field.scalar))) {
    return field.fieldKind === 'list' ? [WireType.Varint, WireType.LengthDelimited] : [WireType.Varint];
  }
  throw new Error(`${field.parent.name}.${field.name}: wire type not supported`);
}
