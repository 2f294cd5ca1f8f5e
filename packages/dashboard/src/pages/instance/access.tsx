/** Cards with the tokens and the signing keys of the instance. */
import { useState } from 'react';
import type { InstanceRecord } from '../../../../everstep/src/contract/management.js';
import { path } from '../../api/client.js';
import { usePermissions } from '../../api/instances.js';
import { useApi, useChange } from '../../api/queries.js';
import { ActionButton } from '../../components/action-button.js';
import { Card } from '../../components/card.js';
import { DescriptionList } from '../../components/description-list.js';
import { ConfirmDialog } from '../../components/dialogs.js';
import { Loaded } from '../../components/loading/loaded.js';
import { Secret } from '../../components/secret.js';

export function TokensCard({ instance }: { readonly instance: InstanceRecord }) {
  const { readOnlyReason } = usePermissions();
  const change = useChange();
  const [isConfirming, setIsConfirming] = useState(false);
  const { token, read_only_token: readOnlyToken } = instance;
  const readWrite =
    token === undefined ? (
      <span className="muted">Your role cannot view tokens</span>
    ) : (
      <Secret value={token} valueName="token" />
    );
  const readOnlyValue =
    readOnlyToken === undefined ? (
      <span className="muted">Your role cannot view tokens</span>
    ) : (
      <Secret value={readOnlyToken} valueName="read-only token" />
    );
  return (
    <Card
      title="Permanent tokens"
      actions={
        <ActionButton small disabledReason={readOnlyReason} onClick={() => setIsConfirming(true)}>
          Rotate tokens
        </ActionButton>
      }
    >
      <DescriptionList
        items={[
          ['Read and write', readWrite],
          ['Read-only', readOnlyValue],
        ]}
      />
      <ConfirmDialog
        title="Rotate tokens?"
        open={isConfirming}
        onClose={() => setIsConfirming(false)}
        confirmText="Rotate tokens"
        danger
        onConfirm={() =>
          change({
            method: 'POST',
            url: path`/v2/queue/rotate-token/${instance.id}`,
            topics: ['account'],
            isManagementCall: true,
            successText: 'Rotated the tokens',
          })
        }
      >
        <p>
          Creates new values for both tokens. <strong>The current tokens stop working immediately</strong>, and this cannot be
          undone. Update every app that uses them. Named tokens are not affected, and runs continue.
        </p>
      </ConfirmDialog>
    </Card>
  );
}

interface SigningKeys {
  readonly current: string;
  readonly next: string;
}

export function SigningKeysCard() {
  const { canWrite, readOnlyReason } = usePermissions();
  const change = useChange();
  const [isConfirming, setIsConfirming] = useState(false);
  const signingKeys = useApi<SigningKeys>({
    topic: 'settings',
    name: 'signing-keys',
    url: '/v2/keys',
    enabled: canWrite,
  });
  return (
    <Card
      title="Signing keys"
      actions={
        <ActionButton small disabledReason={readOnlyReason} onClick={() => setIsConfirming(true)}>
          Rotate keys
        </ActionButton>
      }
    >
      {canWrite ? (
        <Loaded query={signingKeys} lines={2}>
          {({ current, next }) => (
            <DescriptionList
              items={[
                ['Current', <Secret key="current" value={current} valueName="current signing key" />],
                ['Next', <Secret key="next" value={next} valueName="next signing key" />],
              ]}
            />
          )}
        </Loaded>
      ) : (
        <p className="muted">Your role cannot view signing keys.</p>
      )}
      <ConfirmDialog
        title="Rotate signing keys?"
        open={isConfirming}
        onClose={() => setIsConfirming(false)}
        confirmText="Rotate keys"
        danger
        onConfirm={() =>
          change({ method: 'POST', url: '/v2/keys/rotate', topics: ['settings'], successText: 'Rotated the signing keys' })
        }
      >
        <p>
          The next key becomes the current one, and a new next key is created. This cannot be undone. Apps that have both keys
          keep working. Apps that have only the current key reject deliveries until you update them.
        </p>
      </ConfirmDialog>
    </Card>
  );
}
