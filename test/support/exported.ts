import type { ExportedManifest } from '../../src/catalog/manifest/export.ts';
import type { Manifests } from '../../src/catalog/manifest/manifests.ts';

type Exporting = Pick<Manifests, 'export'>;

/** An application as a manifest, in YAML. */
export async function yamlOf(manifests: Exporting, code: string): Promise<string> {
  return new TextDecoder().decode(await manifests.export(code, 'yaml'));
}

/** The same as data. */
export async function manifestOf(manifests: Exporting, code: string): Promise<ExportedManifest> {
  return JSON.parse(new TextDecoder().decode(await manifests.export(code, 'json'))) as ExportedManifest;
}
