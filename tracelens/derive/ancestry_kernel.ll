; 81be12e9ddf445b21b5eee94e6f58f86e269918906fc3425edd85a06b72f865a


define noundef i32 @climb(ptr noalias writeonly captures(none) %retptr, ptr noalias readnone captures(none) %excinfo, i64 %arg.state) local_unnamed_addr {
B0.endif:
  %const = bitcast i64 -4611686018427387904 to i64
  %.7 = inttoptr i64 %arg.state to ptr
  %.8 = load i64, ptr %.7, align 1
  %.8.fr = freeze i64 %.8
  %.13 = add nsw i64 %arg.state, 8
  %.14 = inttoptr i64 %.13 to ptr
  %.15 = load i64, ptr %.14, align 1
  %.20 = add nsw i64 %arg.state, 16
  %.21 = inttoptr i64 %.20 to ptr
  %.22 = load i64, ptr %.21, align 1
  %.24 = add nsw i64 %arg.state, 24
  %.25 = inttoptr i64 %.24 to ptr
  %.26 = load i64, ptr %.25, align 1
  %.34 = add nsw i64 %arg.state, 32
  %.35 = inttoptr i64 %.34 to ptr
  %.36 = load i64, ptr %.35, align 1
  %.38 = add nsw i64 %arg.state, 40
  %.39 = inttoptr i64 %.38 to ptr
  %.40 = load i64, ptr %.39, align 1
  %..15 = tail call i64 @llvm.smax.i64(i64 %.15, i64 0)
  %0 = sub i64 0, %..15
  br label %B346

B346:                                             ; preds = %B404, %B0.endif
  %lsr.iv58 = phi i64 [ %lsr.iv.next59, %B404 ], [ -1, %B0.endif ]
  %lsr.iv56 = phi i64 [ %lsr.iv.next57, %B404 ], [ %.22, %B0.endif ]
  %1 = add i64 %0, %lsr.iv58
  %exitcond.not = icmp eq i64 %1, -1
  br i1 %exitcond.not, label %B446, label %B348

B348:                                             ; preds = %B346
  %.170 = inttoptr i64 %lsr.iv56 to ptr
  %.171 = load i64, ptr %.170, align 1
  %lsr.iv.next57 = add i64 %lsr.iv56, 8
  %lsr.iv.next59 = add nsw i64 %lsr.iv58, 1
  %.176.not = icmp slt i64 %.171, %lsr.iv.next59
  br i1 %.176.not, label %B404, label %common.ret

B404:                                             ; preds = %B348
  %.179 = icmp slt i64 %.171, 0
  %.182 = icmp ne i64 %.171, %const
  %or.cond = and i1 %.179, %.182
  br i1 %or.cond, label %common.ret, label %B346

common.ret:                                       ; preds = %B1156.us277, %B1156.us, %B1016.us, %B704.endif, %B468.endif, %B1156, %B698, %B404, %B348
  %.sink = phi i64 [ 0, %B468.endif ], [ 0, %B1156.us ], [ 0, %B1016.us ], [ 0, %B704.endif ], [ 0, %B698 ], [ 0, %B1156 ], [ 0, %B1156.us277 ], [ 1, %B404 ], [ 1, %B348 ]
  store i64 %.sink, ptr %retptr, align 8
  ret i32 0

B446:                                             ; preds = %B346
  %.212 = icmp eq i64 %.8.fr, 3
  br i1 %.212, label %B468.endif, label %B704.endif

B500:                                             ; preds = %B500.preheader, %B698
  %lsr.iv38 = phi i64 [ %.15, %B500.preheader ], [ %lsr.iv.next39, %B698 ]
  %lsr.iv36 = phi i64 [ %7, %B500.preheader ], [ %lsr.iv.next37, %B698 ]
  %lsr.iv = phi i64 [ %5, %B500.preheader ], [ %lsr.iv.next, %B698 ]
  %.348 = inttoptr i64 %lsr.iv to ptr
  %.349 = load i64, ptr %.348, align 1
  %.354 = icmp sgt i64 %.349, -1
  br i1 %.354, label %B572, label %B698

B572:                                             ; preds = %B500
  %.357 = shl nsw i64 %.349, 3
  %.359 = add nsw i64 %.357, %.40
  %.366 = inttoptr i64 %.359 to ptr
  %.367 = load i64, ptr %.366, align 1
  %.374 = inttoptr i64 %lsr.iv36 to ptr
  %.375 = load i64, ptr %.374, align 1
  %.376 = add nsw i64 %.375, %.367
  store i64 %.376, ptr %.366, align 1
  br label %B698

B698:                                             ; preds = %B572, %B500
  %lsr.iv.next = add i64 %lsr.iv, -8
  %lsr.iv.next37 = add i64 %lsr.iv36, -8
  %lsr.iv.next39 = add i64 %lsr.iv38, -1
  %exitcond310.not = icmp eq i64 %lsr.iv.next39, 0
  br i1 %exitcond310.not, label %common.ret, label %B500

B738:                                             ; preds = %B738.preheader, %B1156
  %lsr.iv54 = phi i64 [ %.40, %B738.preheader ], [ %lsr.iv.next55, %B1156 ]
  %lsr.iv52 = phi i64 [ %.22, %B738.preheader ], [ %lsr.iv.next53, %B1156 ]
  %.486242244 = phi i64 [ %.493, %B1156 ], [ 0, %B738.preheader ]
  %.493 = add nuw nsw i64 %.486242244, 1
  %.525 = inttoptr i64 %lsr.iv52 to ptr
  %.526 = load i64, ptr %.525, align 1
  %.646 = icmp sgt i64 %.526, -1
  br i1 %.646, label %B1114, label %B1156

B1114:                                            ; preds = %B738
  %.649 = shl nsw i64 %.526, 3
  %.653 = add nsw i64 %.649, %.40
  %.654 = inttoptr i64 %.653 to ptr
  %.655 = load i64, ptr %.654, align 1
  br label %B1156

B1156:                                            ; preds = %B1114, %B738
  %above.5.2 = phi i64 [ %.655, %B1114 ], [ %spec.select, %B738 ]
  %2 = add i64 %.26, %.486242244
  %.668 = inttoptr i64 %2 to ptr
  %.669 = load i8, ptr %.668, align 1
  %.671.not = icmp eq i8 %.669, 0
  %.692 = icmp eq i64 %above.5.2, %const
  %spec.select300 = select i1 %.692, i64 %.486242244, i64 %above.5.2
  %above.7.2 = select i1 %.671.not, i64 %above.5.2, i64 %spec.select300
  %.711 = inttoptr i64 %lsr.iv54 to ptr
  store i64 %above.7.2, ptr %.711, align 1
  %lsr.iv.next53 = add i64 %lsr.iv52, 8
  %lsr.iv.next55 = add i64 %lsr.iv54, 8
  %exitcond306.not = icmp eq i64 %.15, %.493
  br i1 %exitcond306.not, label %common.ret, label %B738

B468.endif:                                       ; preds = %B446
  %.300295.not = icmp slt i64 %.15, 1
  br i1 %.300295.not, label %common.ret, label %B500.preheader

B500.preheader:                                   ; preds = %B468.endif
  %3 = shl i64 %.15, 3
  %4 = add i64 %.22, %3
  %5 = add i64 %4, -8
  %6 = add i64 %.40, %3
  %7 = add i64 %6, -8
  br label %B500

B704.endif:                                       ; preds = %B446
  %8 = icmp sgt i64 %.15, 0
  br i1 %8, label %B738.lr.ph, label %common.ret

B738.lr.ph:                                       ; preds = %B704.endif
  %.531 = icmp eq i64 %.8.fr, 4
  %.634 = icmp eq i64 %.8.fr, 2
  %spec.select = select i1 %.634, i64 0, i64 %const
  br i1 %.531, label %B738.us.preheader, label %B738.lr.ph.split

B738.us.preheader:                                ; preds = %B738.lr.ph
  br label %B738.us

B738.us:                                          ; preds = %B1016.us, %B738.us.preheader
  %.486242244.us = phi i64 [ %.493.us, %B1016.us ], [ 0, %B738.us.preheader ]
  %.493.us = add nuw nsw i64 %.486242244.us, 1
  %.542.us = add nsw i64 %.486242244.us, %.26
  %.543.us = inttoptr i64 %.542.us to ptr
  %.544.us = load i8, ptr %.543.us, align 1
  %.546.not.us = icmp eq i8 %.544.us, 0
  br i1 %.546.not.us, label %B1016.us, label %B852.us

B852.us:                                          ; preds = %B738.us
  %sunkaddr = inttoptr i64 %.22 to ptr
  %sunkaddr60 = mul i64 %.486242244.us, 8
  %sunkaddr61 = getelementptr i8, ptr %sunkaddr, i64 %sunkaddr60
  %.526.us = load i64, ptr %sunkaddr61, align 1
  %sunkaddr62 = inttoptr i64 %.36 to ptr
  %sunkaddr63 = mul i64 %.486242244.us, 8
  %sunkaddr64 = getelementptr i8, ptr %sunkaddr62, i64 %sunkaddr63
  %.560.us = load i64, ptr %sunkaddr64, align 1
  %.565.us = icmp sgt i64 %.526.us, -1
  br i1 %.565.us, label %B906.us.preheader, label %B1016.us

B906.us.preheader:                                ; preds = %B852.us
  br label %B906.us

B906.us:                                          ; preds = %B962.us, %B906.us.preheader
  %parent.4.2.us = phi i64 [ %.600.us, %B962.us ], [ %.526.us, %B906.us.preheader ]
  %.575.us = shl nsw i64 %parent.4.2.us, 3
  %.577.us = add nsw i64 %.575.us, %.36
  %.578.us = inttoptr i64 %.577.us to ptr
  %.579.us = load i64, ptr %.578.us, align 1
  %.581.us = icmp eq i64 %.579.us, %.560.us
  br i1 %.581.us, label %B1016.us, label %B962.us

B962.us:                                          ; preds = %B906.us
  %sunkaddr65 = inttoptr i64 %.22 to ptr
  %sunkaddr66 = mul i64 %parent.4.2.us, 8
  %sunkaddr67 = getelementptr i8, ptr %sunkaddr65, i64 %sunkaddr66
  %.600.us = load i64, ptr %sunkaddr67, align 1
  %.603.us = icmp sgt i64 %.600.us, -1
  br i1 %.603.us, label %B906.us, label %B1016.us

B1016.us:                                         ; preds = %B962.us, %B906.us, %B852.us, %B738.us
  %found.2.1.us = phi i64 [ 0, %B738.us ], [ 0, %B852.us ], [ 0, %B962.us ], [ 1, %B906.us ]
  %sunkaddr68 = inttoptr i64 %.40 to ptr
  %sunkaddr69 = mul i64 %.486242244.us, 8
  %sunkaddr70 = getelementptr i8, ptr %sunkaddr68, i64 %sunkaddr69
  store i64 %found.2.1.us, ptr %sunkaddr70, align 1
  %exitcond309.not = icmp eq i64 %.15, %.493.us
  br i1 %exitcond309.not, label %common.ret, label %B738.us

B738.lr.ph.split:                                 ; preds = %B738.lr.ph
  %9 = icmp eq i64 %.8.fr, 2
  br i1 %9, label %B738.us248.preheader, label %B738.lr.ph.split.split

B738.us248.preheader:                             ; preds = %B738.lr.ph.split
  br label %B738.us248

B738.us248:                                       ; preds = %B1156.us, %B738.us248.preheader
  %lsr.iv46 = phi i64 [ %.15, %B738.us248.preheader ], [ %lsr.iv.next47, %B1156.us ]
  %lsr.iv44 = phi i64 [ %.22, %B738.us248.preheader ], [ %lsr.iv.next45, %B1156.us ]
  %lsr.iv42 = phi i64 [ %.40, %B738.us248.preheader ], [ %lsr.iv.next43, %B1156.us ]
  %lsr.iv40 = phi i64 [ %.26, %B738.us248.preheader ], [ %lsr.iv.next41, %B1156.us ]
  %.525.us255 = inttoptr i64 %lsr.iv44 to ptr
  %.526.us256 = load i64, ptr %.525.us255, align 1
  %.646.us = icmp sgt i64 %.526.us256, -1
  br i1 %.646.us, label %B1114.us, label %B1156.us

B1114.us:                                         ; preds = %B738.us248
  %.649.us = shl nsw i64 %.526.us256, 3
  %.653.us = add nsw i64 %.649.us, %.40
  %.654.us = inttoptr i64 %.653.us to ptr
  %.655.us = load i64, ptr %.654.us, align 1
  br label %B1156.us

B1156.us:                                         ; preds = %B1114.us, %B738.us248
  %above.5.2.us = phi i64 [ %.655.us, %B1114.us ], [ %spec.select, %B738.us248 ]
  %.668.us = inttoptr i64 %lsr.iv40 to ptr
  %.669.us = load i8, ptr %.668.us, align 1
  %.671.not.us = icmp ne i8 %.669.us, 0
  %.679.us = zext i1 %.671.not.us to i64
  %spec.select301 = add nsw i64 %above.5.2.us, %.679.us
  %.711.us = inttoptr i64 %lsr.iv42 to ptr
  store i64 %spec.select301, ptr %.711.us, align 1
  %lsr.iv.next41 = add i64 %lsr.iv40, 1
  %lsr.iv.next43 = add i64 %lsr.iv42, 8
  %lsr.iv.next45 = add i64 %lsr.iv44, 8
  %lsr.iv.next47 = add i64 %lsr.iv46, -1
  %exitcond308.not = icmp eq i64 %lsr.iv.next47, 0
  br i1 %exitcond308.not, label %common.ret, label %B738.us248

B738.lr.ph.split.split:                           ; preds = %B738.lr.ph.split
  %10 = icmp eq i64 %.8.fr, 0
  br i1 %10, label %B738.us262.preheader, label %B738.preheader

B738.preheader:                                   ; preds = %B738.lr.ph.split.split
  br label %B738

B738.us262.preheader:                             ; preds = %B738.lr.ph.split.split
  br label %B738.us262

B738.us262:                                       ; preds = %B1156.us277, %B738.us262.preheader
  %lsr.iv50 = phi i64 [ %.22, %B738.us262.preheader ], [ %lsr.iv.next51, %B1156.us277 ]
  %lsr.iv48 = phi i64 [ %.40, %B738.us262.preheader ], [ %lsr.iv.next49, %B1156.us277 ]
  %.486242244.us264 = phi i64 [ %.493.us266, %B1156.us277 ], [ 0, %B738.us262.preheader ]
  %.493.us266 = add nuw nsw i64 %.486242244.us264, 1
  %.525.us269 = inttoptr i64 %lsr.iv50 to ptr
  %.526.us270 = load i64, ptr %.525.us269, align 1
  %.646.us271 = icmp sgt i64 %.526.us270, -1
  br i1 %.646.us271, label %B1114.us272, label %B1156.us277

B1114.us272:                                      ; preds = %B738.us262
  %.649.us273 = shl nsw i64 %.526.us270, 3
  %.653.us274 = add nsw i64 %.649.us273, %.40
  %.654.us275 = inttoptr i64 %.653.us274 to ptr
  %.655.us276 = load i64, ptr %.654.us275, align 1
  br label %B1156.us277

B1156.us277:                                      ; preds = %B1114.us272, %B738.us262
  %above.5.2.us278 = phi i64 [ %.655.us276, %B1114.us272 ], [ %spec.select, %B738.us262 ]
  %11 = add i64 %.26, %.486242244.us264
  %.668.us280 = inttoptr i64 %11 to ptr
  %.669.us281 = load i8, ptr %.668.us280, align 1
  %.671.not.us282 = icmp eq i8 %.669.us281, 0
  %spec.select302 = select i1 %.671.not.us282, i64 %above.5.2.us278, i64 %.486242244.us264
  %.711.us287 = inttoptr i64 %lsr.iv48 to ptr
  store i64 %spec.select302, ptr %.711.us287, align 1
  %lsr.iv.next49 = add i64 %lsr.iv48, 8
  %lsr.iv.next51 = add i64 %lsr.iv50, 8
  %exitcond307.not = icmp eq i64 %.15, %.493.us266
  br i1 %exitcond307.not, label %common.ret, label %B738.us262
}

declare i64 @llvm.smax.i64(i64, i64)

