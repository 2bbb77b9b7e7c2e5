import { generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';

/** A certificate authority for one test: nothing is kept, and no tool but Node is needed. */
export interface Authority {
  cert: string;
  /** A certificate for 127.0.0.1, ::1 and localhost, or other names in place of that one, usable by servers and clients. */
  issue(name: string, hosts?: readonly string[]): { cert: string; key: string };
}

export function createAuthority(name: string): Authority {
  const keys = newKeys();
  const cert = certificate({
    subject: name,
    publicKey: keys.publicKey,
    issuer: name,
    signer: keys.privateKey,
    ca: true,
    hosts: [],
  });
  return {
    cert,
    issue(subject, hosts = ['localhost']) {
      const { publicKey, privateKey } = newKeys();
      return {
        cert: certificate({ subject, publicKey, issuer: name, signer: keys.privateKey, ca: false, hosts }),
        key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
      };
    },
  };
}

const newKeys = () => generateKeyPairSync('ec', { namedCurve: 'P-256' });

/** DER: tag, length, contents. */
function der(tag: number, ...contents: Uint8Array[]): Buffer {
  const body = Buffer.concat(contents);
  const size = body.length;
  const length = size < 128 ? [size] : size < 256 ? [0x81, size] : [0x82, size >> 8, size & 255];
  return Buffer.concat([Buffer.from([tag, ...length]), body]);
}

const SEQUENCE = 0x30;
const SET = 0x31;
const hex = (text: string) => Buffer.from(text, 'hex');
const ECDSA_WITH_SHA256 = der(SEQUENCE, hex('06082a8648ce3d040302'));
const COMMON_NAME = hex('0603550403');
const BASIC_CONSTRAINTS = hex('0603551d13');
const SUBJECT_ALT_NAME = hex('0603551d11');
const TRUE = hex('0101ff');

interface Contents {
  subject: string;
  publicKey: KeyObject;
  issuer: string;
  signer: KeyObject;
  ca: boolean;
  hosts: readonly string[];
}

/** X.509 v3 (RFC 5280, 4.1), valid from yesterday for a week. */
function certificate({ subject, publicKey, issuer, signer, ca, hosts }: Contents): string {
  const distinguished = (name: string) =>
    der(SEQUENCE, der(SET, der(SEQUENCE, COMMON_NAME, der(0x0c, Buffer.from(name)))));
  const day = 86_400_000;
  const time = (at: number) => {
    const digits = new Date(at).toISOString().replace(/[-:T]/g, '').slice(0, 14);
    return der(0x18, Buffer.from(`${digits}Z`));
  };
  const altNames = der(
    SEQUENCE,
    ...hosts.map((host) => der(0x82, Buffer.from(host))),
    der(0x87, Buffer.from([127, 0, 0, 1])),
    der(0x87, Buffer.concat([Buffer.alloc(15), Buffer.from([1])])),
  );
  const constraints = ca ? der(SEQUENCE, TRUE) : der(SEQUENCE);
  const extensions = [
    der(SEQUENCE, BASIC_CONSTRAINTS, TRUE, der(0x04, constraints)),
    ...(ca ? [] : [der(SEQUENCE, SUBJECT_ALT_NAME, der(0x04, altNames))]),
  ];
  const serial = randomBytes(8);
  serial[0] = ((serial[0] as number) & 0x7f) | 1;
  const signed = der(
    SEQUENCE,
    der(0xa0, hex('020102')),
    der(0x02, serial),
    ECDSA_WITH_SHA256,
    distinguished(issuer),
    der(SEQUENCE, time(Date.now() - day), time(Date.now() + 7 * day)),
    distinguished(subject),
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, der(SEQUENCE, ...extensions)),
  );
  const signature = sign('sha256', signed, signer);
  const whole = der(SEQUENCE, signed, ECDSA_WITH_SHA256, der(0x03, Buffer.concat([Buffer.alloc(1), signature])));
  const lines = whole.toString('base64').match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`;
}
