// SPDX-License-Identifier: GPL-2.0-only
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/pm_runtime.h>
#include <linux/slab.h>

#include "cnnacc_device.h"
#include "cnnacc_trace.h"

/**
 * DOC: PCI
 *
 * The PCI-specific part: BAR, MSI-X vectors, bus mastering, function level reset, and recovery from
 * errors of the bus (AER).
 */

static int cnnacc_pci_irq(struct device *dev, unsigned int vector)
{
	return pci_irq_vector(to_pci_dev(dev), vector);
}

static void cnnacc_pci_allow_dma(struct device *dev, bool allow)
{
	if (allow)
		pci_set_master(to_pci_dev(dev));
	else
		pci_clear_master(to_pci_dev(dev));
}

static const struct cnnacc_bus cnnacc_pci_bus = {
	.irq = cnnacc_pci_irq,
	.allow_dma = cnnacc_pci_allow_dma,
	.wedged = "WEDGED=rebind,bus-reset",
	.irq_hint = "MSI-X, pci=nomsi and the IOMMU's interrupt remapping",
};

static void cnnacc_pci_free_vectors(void *data)
{
	pci_free_irq_vectors(data);
}

static int cnnacc_pci_alloc_vectors(struct pci_dev *pdev, unsigned int count)
{
	int ret;

	ret = pci_alloc_irq_vectors(pdev, count, count, PCI_IRQ_MSIX);
	if (ret < 0)
		return dev_err_probe(&pdev->dev, ret,
				     "no %u MSI-X vectors: check pci=nomsi and the platform's MSI\n",
				     count);
	return devm_add_action_or_reset(&pdev->dev, cnnacc_pci_free_vectors, pdev);
}

static void cnnacc_pci_free_state(void *data)
{
	kfree(data);
}

/* Saves the configuration of a working device, for when a bus reset has cleared it. */
static int cnnacc_pci_save_state(struct pci_dev *pdev, struct cnnacc_device *cdev)
{
	pci_save_state(pdev);
	cdev->bus_state = pci_store_saved_state(pdev);
	if (!cdev->bus_state)
		return -ENOMEM;
	return devm_add_action_or_reset(&pdev->dev, cnnacc_pci_free_state, cdev->bus_state);
}

static int cnnacc_pci_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct cnnacc_device *cdev;
	void __iomem *regs;
	int ret;

	ret = pcim_enable_device(pdev);
	if (ret)
		return dev_err_probe(&pdev->dev, ret, "cannot enable the device\n");
	if (pci_resource_len(pdev, CNNACC_PCI_BAR_REGS) < CNNACC_REGS_SIZE)
		return dev_err_probe(&pdev->dev, -ENODEV,
				     "BAR %u has %llu bytes, not %u: check its assignment, pci=realloc\n",
				     CNNACC_PCI_BAR_REGS,
				     (u64)pci_resource_len(pdev, CNNACC_PCI_BAR_REGS),
				     CNNACC_REGS_SIZE);
	regs = pcim_iomap_region(pdev, CNNACC_PCI_BAR_REGS, "cnnacc");
	if (IS_ERR(regs))
		return dev_err_probe(&pdev->dev, PTR_ERR(regs), "cannot map BAR %u\n",
				     CNNACC_PCI_BAR_REGS);

	cdev = cnnacc_device_create(&pdev->dev, regs, &cnnacc_pci_bus);
	if (IS_ERR(cdev))
		return PTR_ERR(cdev);
	cdev->vector_max = cdev->core_count + 1;
	ret = cnnacc_pci_alloc_vectors(pdev, cdev->vector_max);
	if (ret)
		return ret;
	pci_set_drvdata(pdev, cdev);
	pci_set_master(pdev);
	ret = cnnacc_pci_save_state(pdev, cdev);
	if (!ret)
		ret = cnnacc_device_start(cdev);
	if (ret) {
		pci_clear_master(pdev);
		return ret;
	}
	cnnacc_pm_start(cdev);
	return 0;
}

static void cnnacc_pci_remove(struct pci_dev *pdev)
{
	struct cnnacc_device *cdev = pci_get_drvdata(pdev);

	cnnacc_pm_stop(cdev);
	cnnacc_device_stop(cdev);
	pci_clear_master(pdev);
}

/* Callers of pci_reset_function() need not have resumed the device. */
static void cnnacc_pci_reset_prepare(struct pci_dev *pdev)
{
	pm_runtime_get_sync(&pdev->dev);
	cnnacc_pm_suspend(&pdev->dev);
}

static void cnnacc_pci_reset_done(struct pci_dev *pdev)
{
	struct cnnacc_device *cdev = pci_get_drvdata(pdev);

	atomic64_inc(&cdev->reset_count);
	trace_cnnacc_reset(cdev, -1, atomic64_read(&cdev->reset_count));
	cnnacc_pm_resume(&pdev->dev);
	cnnacc_pm_put(cdev);
}

/*
 * Stops the device, and restarts it at once rather than in cnnacc_pci_error_resume(), which is not
 * called if the recovery fails: users must not block until then.  A device that does not answer is
 * wedged, and its jobs fail with -ENODEV.
 */
static pci_ers_result_t cnnacc_pci_error_detected(struct pci_dev *pdev, pci_channel_state_t state)
{
	dev_warn(&pdev->dev, "PCI error, state %u\n", state);
	if (state == pci_channel_io_normal)
		return PCI_ERS_RESULT_CAN_RECOVER;
	cnnacc_pci_reset_prepare(pdev);
	cnnacc_pci_reset_done(pdev);
	return state == pci_channel_io_frozen ? PCI_ERS_RESULT_NEED_RESET :
						PCI_ERS_RESULT_DISCONNECT;
}

static pci_ers_result_t cnnacc_pci_slot_reset(struct pci_dev *pdev)
{
	struct cnnacc_device *cdev = pci_get_drvdata(pdev);

	pci_load_saved_state(pdev, cdev->bus_state);
	pci_restore_state(pdev);
	return cnnacc_device_gone(cdev) ? PCI_ERS_RESULT_DISCONNECT : PCI_ERS_RESULT_RECOVERED;
}

/* The device may have lost accesses, so it is reset. */
static void cnnacc_pci_error_resume(struct pci_dev *pdev)
{
	cnnacc_pci_reset_prepare(pdev);
	cnnacc_pci_reset_done(pdev);
}

static const struct pci_error_handlers cnnacc_pci_error_handlers = {
	.error_detected = cnnacc_pci_error_detected,
	.slot_reset = cnnacc_pci_slot_reset,
	.resume = cnnacc_pci_error_resume,
	.reset_prepare = cnnacc_pci_reset_prepare,
	.reset_done = cnnacc_pci_reset_done,
};

static const struct pci_device_id cnnacc_pci_ids[] = {
	{ PCI_DEVICE(CNNACC_PCI_VENDOR_ID, CNNACC_PCI_DEVICE_ID) },
	{ }
};
MODULE_DEVICE_TABLE(pci, cnnacc_pci_ids);

struct pci_driver cnnacc_pci_driver = {
	.name = "cnnacc",
	.id_table = cnnacc_pci_ids,
	.probe = cnnacc_pci_probe,
	.remove = cnnacc_pci_remove,
	.dev_groups = cnnacc_stats_attr_groups,
	.shutdown = cnnacc_pci_remove,
	.err_handler = &cnnacc_pci_error_handlers,
	.driver.pm = pm_ptr(&cnnacc_pm_ops),
};
