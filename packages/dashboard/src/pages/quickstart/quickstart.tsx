/** Shown while the instance has no runs: how to start the first run, with the URL and the token of the instance. */
import { useState } from 'react';
import { useInstance, usePermissions } from '../../api/instances.js';
import { useApi } from '../../api/queries.js';
import { CopyButton } from '../../components/copy/copy-button.js';
import { QUICKSTART_OPTIONS, type QuickstartOption, shortenSecrets, stepsOf } from './snippets.js';
import './quickstart.css';

// Object.keys returns the names of the table.
const OPTION_NAMES = Object.keys(QUICKSTART_OPTIONS) as readonly QuickstartOption[];

export default function Quickstart() {
  const instance = useInstance();
  const { canWrite } = usePermissions();
  const [option, setOption] = useState<QuickstartOption>('typescript');
  const keys = useApi<{ readonly current: string; readonly next: string }>({
    topic: 'settings',
    name: 'signing-keys',
    url: '/v2/keys',
    enabled: canWrite,
  });
  const access = {
    url: window.location.origin,
    token: instance?.token ?? '<token>',
    instanceId: instance?.id ?? '<instance id>',
    currentSigningKey: keys.data?.current ?? '<current signing key>',
    nextSigningKey: keys.data?.next ?? '<next signing key>',
  };
  return (
    <div className="quickstart">
      <div className="quickstart-head">
        <div>
          <h2>No runs yet</h2>
          <p className="muted">Start the first one in three steps.</p>
        </div>
        <fieldset className="line quickstart-options">
          <legend className="visually-hidden">Language</legend>
          {OPTION_NAMES.map((name) => (
            <button
              key={name}
              type="button"
              className="button button-small"
              aria-pressed={name === option}
              onClick={() => setOption(name)}
            >
              {QUICKSTART_OPTIONS[name].text}
            </button>
          ))}
        </fieldset>
      </div>
      <p className="muted">{QUICKSTART_OPTIONS[option].lead}</p>
      <ol className="quickstart-steps">
        {stepsOf(option, access).map(({ title, code }, index) => (
          <li key={title}>
            <div className="quickstart-step">
              <h3>
                {index + 1}. {title}
              </h3>
              <CopyButton value={code} valueName={`step ${index + 1}`} text="Copy" />
            </div>
            {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable box must be reachable with the keyboard */}
            <section className="quickstart-code" tabIndex={0} aria-label={`Code of step ${index + 1}`}>
              <pre>{shortenSecrets(code, access)}</pre>
            </section>
          </li>
        ))}
      </ol>
      <p className="live-state" data-state="connected" role="status">
        <span className="live-dot" aria-hidden="true" />
        Waiting for the first run. This page shows it when it starts.
      </p>
    </div>
  );
}
