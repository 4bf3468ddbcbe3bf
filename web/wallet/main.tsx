/** The wallet: the page of the wallet of a user or miner node. */

import { render } from 'preact';
import '../shared/styles/index.css';
import './wallet.css';
import { applyStoredTheme } from '../shared/theme.js';
import { WalletSite } from './wallet-site.js';

applyStoredTheme();
const root = document.getElementById('app');
if (root !== null) render(<WalletSite />, root);
