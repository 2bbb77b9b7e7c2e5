import { useState } from 'react';
import { useLocation } from 'wouter';
import type { Input } from '../../../../src/gen/api.ts';
import { asError } from '../../api/error.ts';
import { Dialog } from '../../parts/dialog.tsx';
import { TextArea } from '../../parts/field.tsx';
import { ImpactReview } from '../../parts/impact.tsx';
import { useWords } from '../../words/words.ts';

type Manifest = Input<'POST /api/manifests/apply'>['body'];

interface FromManifestProps {
  /** Begins with the demonstration instead of nothing. */
  readonly demo: boolean;
  readonly onClose: () => void;
}

/** Makes an application of a manifest that somebody has: pasted, then reviewed. */
export function FromManifest({ demo, onClose }: FromManifestProps) {
  const { applications, common } = useWords();
  const [text, setText] = useState<string | null>(null);
  const [fault, setFault] = useState<string | null>(null);
  const [manifest, setManifest] = useState<Manifest | null>(null);
  const [, navigate] = useLocation();
  if (demo && text === null) void import('../../../../examples/demo.yaml?raw').then((read) => setText(read.default));
  const review = async (): Promise<void> => {
    const { parse } = await import('yaml');
    try {
      setManifest(parse(text ?? '') as Manifest);
      setFault(null);
    } catch (error) {
      setFault(asError(error).message);
    }
  };
  if (manifest !== null) {
    const code = (manifest as { application?: { code?: string } } | null)?.application?.code ?? '';
    return (
      <ImpactReview
        title={applications.fromManifest}
        operation="POST /api/manifests/apply"
        input={{ body: manifest }}
        done={applications.made(code)}
        refreshes={['/api']}
        onClose={() => setManifest(null)}
        onDone={() => {
          onClose();
          navigate(`/applications/${encodeURIComponent(code)}`);
        }}
      />
    );
  }
  return (
    <Dialog
      title={applications.fromManifest}
      wide
      dirty={Boolean(text)}
      onClose={onClose}
      act={{
        label: common.review,
        disabled: !text?.trim() && common.missing.fields([applications.manifestLabel]),
        onAct: () => void review(),
      }}
    >
      <TextArea
        label={applications.manifestLabel}
        hint={applications.manifestHint}
        fault={fault}
        value={text ?? ''}
        onText={setText}
        rows={18}
        spellCheck={false}
        autoFocus
      />
    </Dialog>
  );
}
