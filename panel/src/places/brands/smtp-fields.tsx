import { faultOf, Switch, TextField } from '../../parts/field.tsx';
import { Card } from '../../parts/page.tsx';
import { useWords } from '../../words/words.ts';
import css from './brands.module.css';
import { type Brand, needsPassword, type SmtpDraft } from './draft.ts';

interface SmtpFieldsProps {
  readonly brand: Brand;
  readonly smtp: SmtpDraft;
  readonly error: Error | null;
  readonly set: (smtp: SmtpDraft) => void;
}

/** The mail server of a brand. Its password can be replaced and forgotten, and never read. */
export function SmtpFields({ brand, smtp, error, set }: SmtpFieldsProps) {
  const { brands: words } = useWords();
  const change = (changes: Partial<SmtpDraft>) => set({ ...smtp, ...changes });
  const stored = brand.smtp?.hasPassword === true;
  const again = needsPassword(brand, smtp);
  return (
    <Card title={words.smtp}>
      <Switch label={words.smtpOwn} hint={words.smtpNone} checked={smtp.own} onChecked={(own) => change({ own })} />
      {smtp.own && (
        <>
          <div className={css.server}>
            <TextField
              label={words.host}
              value={smtp.host}
              placeholder="smtp.example.com"
              fault={faultOf(error, 'smtp.host')}
              onText={(host) => change({ host })}
            />
            <TextField
              label={words.port}
              inputMode="numeric"
              value={smtp.port}
              maxLength={5}
              fault={faultOf(error, 'smtp.port')}
              onText={(port) => change({ port: port.replaceAll(/\D/g, '') })}
            />
          </div>
          <Switch
            label={words.secure}
            hint={words.secureHint}
            checked={smtp.secure}
            onChecked={(secure) => change({ secure })}
          />
          <Switch
            label={words.allowInsecure}
            hint={words.allowInsecureHint}
            checked={smtp.allowInsecure}
            onChecked={(allowInsecure) => change({ allowInsecure })}
          />
          <TextField
            label={words.user}
            value={smtp.user}
            fault={faultOf(error, 'smtp.user')}
            onText={(user) => change({ user })}
          />
          <TextField
            label={words.password}
            type="password"
            autoComplete="new-password"
            value={smtp.password}
            maxLength={1000}
            hint={again ? words.passwordAgain : stored ? words.passwordKept : words.passwordNone}
            fault={faultOf(error, 'smtp.password')}
            onText={(password) => change({ password, forgetPassword: false })}
          />
          {stored && smtp.password === '' && (
            <Switch
              label={words.forget}
              checked={smtp.forgetPassword}
              onChecked={(forgetPassword) => change({ forgetPassword })}
            />
          )}
        </>
      )}
    </Card>
  );
}
