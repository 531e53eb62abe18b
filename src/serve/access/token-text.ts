import { hash, timingSafeEqual } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { newToken } from '../../base/ids.ts';

/**
 * `pt_`, 43 random letters and digits (256 bits), and a checksum of six, so that a typing error and a leaked token can
 * be recognized without the server.
 */
export function newTokenText(): string {
  const body = newSecretText();
  return `${TOKEN_MARK}${body}${checksum(body)}`;
}

/** Whether a text has the form of a token, including its checksum. */
export function isTokenText(text: string): boolean {
  const [, body = '', sum = ''] = TOKEN_TEXT.exec(text) ?? [];
  return body !== '' && checksum(body) === sum;
}

/** 256 random bits as 43 letters and digits. */
export function newSecretText(): string {
  return base62(BigInt(`0x${newToken()}`), SECRET_LENGTH);
}

/** The SHA-256 of a secret: the only form in which the server stores it. */
export function secretHash(text: string): string {
  return hash('sha256', text, 'hex');
}

/** Compares two hashes of equal length in constant time. */
export function isSameHash(a: string, b: string): boolean {
  return a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b));
}

const TOKEN_MARK = 'pt_';
const SECRET_LENGTH = 43;
const TOKEN_TEXT = /^pt_([0-9A-Za-z]{43})([0-9A-Za-z]{6})$/;
/** The form of a secret. */
export const SECRET_TEXT = /^[0-9A-Za-z]{43}$/;

function checksum(body: string): string {
  let text = '';
  for (let rest = crc32(body); text.length < 6; rest = Math.floor(rest / 62))
    text = (DIGITS[rest % 62] as string) + text;
  return text;
}

function base62(number: bigint, length: number): string {
  let text = '';
  for (let rest = number; text.length < length; rest /= 62n) text = (DIGITS[Number(rest % 62n)] as string) + text;
  return text;
}

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
