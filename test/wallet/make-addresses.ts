/** Makes 200 addresses in a wallet and prints by how much the live buffers grew. */

import { printLiveGrowth } from '../support/live-memory-child.js';
import { newWallet, removeFolders } from '../support/wallet-fixtures.js';

const { wallet, close } = await newWallet();
await printLiveGrowth(Array(200), () => wallet.newAddress());
await close();
await removeFolders();
