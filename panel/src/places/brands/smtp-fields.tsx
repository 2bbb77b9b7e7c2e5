import { faultOf, SelectField, Switch, TextField } from '../../parts/field.tsx';
import { Card } from '../../parts/page.tsx';
import { useWords } from '../../words/words.ts';
import css from './brands.module.css';
import { type Brand, needsAgain, type SmtpDraft } from './draft.ts';

interface SmtpFieldsProps {
  readonly brand: Brand;
  readonly smtp: SmtpDraft;
  readonly error: Error | null;
  readonly set: (smtp: SmtpDraft) => void;
}

/** The mail server of a brand. Its secrets can be replaced and forgotten, and never read. */
export function SmtpFields({ brand, smtp, error, set }: SmtpFieldsProps) {
  const { brands: words } = useWords();
  const change = (changes: Partial<SmtpDraft>) => set({ ...smtp, ...changes });
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
          <SelectField
            label={words.auth}
            value={smtp.auth}
            options={[
              ['password', words.auths.password],
              ['oauth2', words.auths.oauth2],
            ]}
            fault={faultOf(error, 'smtp.auth')}
            onText={(auth) => change({ auth: auth === 'oauth2' ? 'oauth2' : 'password' })}
          />
          {smtp.auth === 'password' ? (
            <SecretField
              label={words.password}
              maxLength={1000}
              value={smtp.password}
              stored={brand.smtp?.hasPassword === true}
              again={needsAgain(brand, smtp, 'password')}
              againHint={words.passwordAgain}
              forget={smtp.forgetPassword}
              forgetLabel={words.forget}
              fault={faultOf(error, 'smtp.password')}
              onText={(password) => change({ password, forgetPassword: false })}
              onForget={(forgetPassword) => change({ forgetPassword })}
            />
          ) : (
            <OAuth2Fields {...{ brand, smtp, error, change }} />
          )}
        </>
      )}
    </Card>
  );
}

interface OAuth2FieldsProps extends Omit<SmtpFieldsProps, 'set'> {
  readonly change: (changes: Partial<SmtpDraft>) => void;
}

function OAuth2Fields({ brand, smtp, error, change }: OAuth2FieldsProps) {
  const { brands: words } = useWords();
  const stored = brand.smtp?.oauth2;
  return (
    <>
      <TextField
        label={words.tokenUrl}
        type="url"
        value={smtp.tokenUrl}
        hint={words.tokenUrlHint}
        fault={faultOf(error, 'smtp.oauth2.tokenUrl') ?? faultOf(error, 'smtp.oauth2')}
        onText={(tokenUrl) => change({ tokenUrl })}
      />
      <TextField
        label={words.clientId}
        value={smtp.clientId}
        fault={faultOf(error, 'smtp.oauth2.clientId')}
        onText={(clientId) => change({ clientId })}
      />
      <SecretField
        label={words.clientSecret}
        maxLength={4000}
        value={smtp.clientSecret}
        stored={stored?.hasClientSecret === true}
        again={needsAgain(brand, smtp, 'clientSecret')}
        againHint={words.secretAgain}
        forget={smtp.forgetClientSecret}
        forgetLabel={words.forgetClientSecret}
        fault={faultOf(error, 'smtp.oauth2.clientSecret')}
        onText={(clientSecret) => change({ clientSecret, forgetClientSecret: false })}
        onForget={(forgetClientSecret) => change({ forgetClientSecret })}
      />
      <TextField
        label={words.scope}
        value={smtp.scope}
        placeholder="https://outlook.office365.com/.default"
        fault={faultOf(error, 'smtp.oauth2.scope')}
        onText={(scope) => change({ scope })}
      />
      <SecretField
        label={words.refreshToken}
        maxLength={8000}
        value={smtp.refreshToken}
        stored={stored?.hasRefreshToken === true}
        noneHint={words.refreshTokenNone}
        again={needsAgain(brand, smtp, 'refreshToken')}
        againHint={words.secretAgain}
        forget={smtp.forgetRefreshToken}
        forgetLabel={words.forgetRefreshToken}
        fault={faultOf(error, 'smtp.oauth2.refreshToken')}
        onText={(refreshToken) => change({ refreshToken, forgetRefreshToken: false })}
        onForget={(forgetRefreshToken) => change({ forgetRefreshToken })}
      />
    </>
  );
}

interface SecretFieldProps {
  readonly label: string;
  readonly maxLength: number;
  readonly value: string;
  readonly stored: boolean;
  /** Of a secret that is not stored. */
  readonly noneHint?: string;
  /** Whether the stored one has to be typed again. */
  readonly again: boolean;
  readonly againHint: string;
  readonly forget: boolean;
  readonly forgetLabel: string;
  readonly fault: string | null;
  readonly onText: (value: string) => void;
  readonly onForget: (forget: boolean) => void;
}

/** A secret that is typed anew or kept, and can be forgotten. */
function SecretField(props: SecretFieldProps) {
  const { brands: words } = useWords();
  const { label, maxLength, value, stored, noneHint, again, againHint, forget, forgetLabel, fault } = props;
  return (
    <>
      <TextField
        label={label}
        type="password"
        autoComplete="new-password"
        value={value}
        maxLength={maxLength}
        hint={again ? againHint : stored ? words.passwordKept : (noneHint ?? words.passwordNone)}
        fault={fault}
        onText={props.onText}
      />
      {stored && value === '' && <Switch label={forgetLabel} checked={forget} onChecked={props.onForget} />}
    </>
  );
}
