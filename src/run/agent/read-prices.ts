import path from 'node:path';
import { Fault } from '../../base/fault.ts';
import { followLink, readRegular } from '../../base/regular.ts';
import { type ModelPrices, modelPrices as contract } from '../../contracts/model-prices/index.ts';
import { readDocument } from '../written/document.ts';

/** Reads the user's prices, in YAML or JSON. Reports every error with its line. */
export function readPrices(file: string, cwd: string): ModelPrices {
  const bytes = readRegular(followLink(path.resolve(cwd, file)), contract.bytesMax);
  if (!bytes)
    throw new Fault('bad_prices', 'The price file cannot be read: it is missing, not a regular file, or too large.');
  return readDocument(bytes, { contract, file: 'price file', code: 'bad_prices' }) as ModelPrices;
}
